package abuse

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/test/rig"
)

const (
	runVariable    = "SPOOL_ABUSE"        // 1: run
	reportVariable = "SPOOL_ABUSE_REPORT" // the file to write
)

// lab is what all attacks share. TestMain sets it once.
var lab struct {
	dir    string // removed at the end
	binary string
	clips  rig.ClipCache
}

func TestMain(m *testing.M) {
	if kind, ok := strings.CutPrefix(filepath.Base(os.Args[0]), hostilePrefix); ok {
		os.Exit(beHostile(kind))
	}
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(role))
	}
	if os.Getenv(runVariable) == "" { // nothing needs to be built
		os.Exit(m.Run())
	}
	os.Exit(rig.Run(m, func(dir, binary string) func() {
		lab.dir, lab.binary = dir, binary
		return nil
	}))
}

// attacks are run one after the other: each may need the whole machine.
var attacks = []struct {
	name string
	run  func(*testing.T, *outcome)
}{
	{"expensive bodies", attackWithBodies},
	{"metadata searches", attackWithSearches},
	{"creates until the disk is full", attackDisk},
	{"a hostile ffmpeg", attackFromFFmpeg},
	{"millions of cues", attackWithCues},
	{"millions of keyframes", attackWithKeyframes},
	{"slow sources", attackWithSlowSources},
	{"slow and parallel PUTs", attackUploads},
	{"enlarging", attackByEnlarging},
	{"a key without the scope", attackWithoutScope},
	{"a signing key that leaked", attackWithRevokedKey},
	{"guessing keys", attackByGuessing},
	{"event streams", attackWithStreams},
	{"captions without a key", attackWithCaptions},
	{"playlists of a long film", attackLongFilm},
	{"every descriptor", attackDescriptors},
	{"the log", attackLog},
	{"unfinished requests", attackWithHeads},
	{"pages that are not read", attackWithLists},
	{"many keys of a tenant", attackWithKeys},
	{"captions of 2 MiB", attackByPuttingCaptions},
	{"/readyz", attackReadiness},
	{"smuggling", attackBySmuggling},
	{"PUT after DELETE", attackAfterDelete},
	{"everything at once", attackWithEverything},
}

// TestAbuse runs every attack:
//
//	SPOOL_ABUSE=1 go test -count=1 -timeout 30m -v ./test/abuse
func TestAbuse(t *testing.T) {
	if os.Getenv(runVariable) == "" {
		t.Skipf("set %s=1, or run make test-long SUITE=abuse: it takes minutes", runVariable)
	}
	r := &report{began: time.Now(), load: loadAverage()}
	for _, a := range attacks {
		t.Run(strings.ReplaceAll(strings.Trim(a.name, "/"), " ", "-"), func(t *testing.T) {
			o := &outcome{t: t, report: r, attack: a.name}
			a.run(t, o)
		})
	}
	r.write(t)
}

// report is the table of all attacks.
type report struct {
	began time.Time
	load  string // of the machine, before the first attack
	mu    sync.Mutex
	rows  []string
	bad   int
}

// outcome takes what was measured of one attack.
type outcome struct {
	t      *testing.T
	report *report
	attack string
}

// holds records whether a promise was kept, and the figure that says so.
func (o *outcome) holds(kept bool, promise, figure string, args ...any) {
	o.t.Helper()
	measured := fmt.Sprintf(figure, args...)
	if !kept {
		o.t.Errorf("%s: %s; measured: %s", o.attack, promise, measured)
	}
	o.report.add(o.attack, promise, measured, map[bool]string{true: "ok", false: "**not kept**"}[kept], kept)
}

// skip records that an attack is impossible here, and ends it.
func (o *outcome) skip(why string, args ...any) {
	o.t.Helper()
	reason := fmt.Sprintf(why, args...)
	o.report.add(o.attack, "", reason, "skipped", true)
	o.t.Skip(reason)
}

func (r *report) add(attack, promise, measured, verdict string, good bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, fmt.Sprintf("| %s | %s | %s | %s |", attack, promise, measured, verdict))
	if !good {
		r.bad++
	}
}

// write prints the table and, if a file is named, writes it there.
func (r *report) write(t *testing.T) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "# Abuse\n\nWritten by `make test-long SUITE=abuse`; do not edit. %d cores, %s, %.0f minutes.\n\n",
		runtime.NumCPU(), time.Now().UTC().Format(time.DateOnly), time.Since(r.began).Minutes())
	fmt.Fprintf(&b, "Load average of the machine before the attacks: %s; after them: %s.\n\n", r.load, loadAverage())
	b.WriteString(introduction)
	b.WriteString("| attack | what must hold | measured | |\n|---|---|---|---|\n")
	b.WriteString(strings.Join(r.rows, "\n") + "\n")
	fmt.Println(b.String())
	if file := os.Getenv(reportVariable); file != "" {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// loadAverage says how much else the machine had to do in the last minute: response times depend on it.
func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	minute, _, _ := strings.Cut(string(b), " ")
	return minute
}

const introduction = `The built program with SQLite and a disk is attacked by clients on the same machine. Attackers run
with the lowest priority, since real ones have machines of their own. The response times are those of
a client of another tenant, which reads one video again and again: first while nothing else happens
("quiet"), then during the attack, three rounds each; p50 and p99 are the medians of the rounds. Where the machine has other work to do, as a load average above its
number of cores shows, these two vary a lot from run to run. [SECURITY.md](../SECURITY.md) describes the limits that are tested.

`
