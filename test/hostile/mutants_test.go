package hostile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/sandbox"
)

const (
	// mutantsVariable is how many damaged films to make. Who sets it has time,
	// also for the bombs that take long.
	mutantsVariable = "SPOOL_TEST_MUTANTS"
	fewMutants      = 60
	// runVariable chooses other films; the same number makes the same ones.
	runVariable = "SPOOL_TEST_MUTANTS_RUN"
)

// mutants returns how many damaged films to make.
func mutants() int { return number(mutantsVariable, fewMutants) }

func number(variable string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(variable)); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// TestMutants sends films that were damaged at random through the engine. What
// becomes of each is one of the ends that a worker knows, and soon.
func TestMutants(t *testing.T) {
	needTools(t)
	t.Parallel()
	c := newCensus(t)
	numbers := make(chan int)
	var examiners sync.WaitGroup
	for range 2 {
		examiners.Go(func() { c.examineMutants(numbers) })
	}
	for n := range mutants() {
		numbers <- n
	}
	close(numbers)
	examiners.Wait()
	t.Log(c.summary())
}

// census counts what became of the films.
type census struct {
	t      *testing.T
	run    uint64
	seeds  []seed
	canary *canary

	mu               sync.Mutex
	ends             map[string]int // by step and end
	sounds           map[string]int
	crashes, hangs   int
	damaged          int // outputs that do not play
	touches          int // of the canary
	slowest          time.Duration
	child, ourselves int64
}

func newCensus(t *testing.T) *census {
	t.Helper()
	o, err := newJob(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return &census{t: t, run: uint64(number(runVariable, 1)), seeds: makeSeeds(t), canary: newCanary(t, o),
		ends: map[string]int{}, sounds: map[string]int{}}
}

// examineMutants examines films until there are no more. An examiner that
// crashed or hangs is replaced.
func (c *census) examineMutants(numbers <-chan int) {
	var e *examiner
	for n := range numbers {
		if e == nil {
			var err error
			if e, err = newExaminer(c.t.Context(), sandbox.On); err != nil {
				c.t.Error(err)
				return
			}
		}
		if !c.examineMutant(e, n) {
			e.close()
			e = nil
		}
	}
	if e != nil {
		e.close()
	}
}

// examineMutant examines film number n and reports whether the examiner is
// still there afterwards.
func (c *census) examineMutant(e *examiner, n int) bool {
	film, how := mutant(c.run, uint64(n), c.seeds, []byte(hls(c.canary.File)))
	dir, err := os.MkdirTemp(c.t.TempDir(), "")
	if err != nil {
		c.t.Error(err)
		return true
	}
	defer os.RemoveAll(dir)
	o, err := newJob(dir, film)
	if err != nil {
		c.t.Error(err)
		return true
	}
	v, err := e.examine(o)
	damage := err
	for _, file := range v.Files {
		damage = cmp.Or(damage, plays(file))
	}
	report := fmt.Sprintf("mutant %d (%s): %s at %s after %v, sound %q", n, how, v.End, v.Step, v.Took, v.Sound)
	switch _, limited := kinds[v.End]; {
	case c.count(v, damage):
		c.t.Errorf("%s: %v; kept in %s", report, cmp.Or(damage, errors.New(v.Err)), c.keep(n, film))
	case limited, v.Sound == "stalled":
		c.t.Logf("%s: %.300s; kept in %s", report, v.Err, c.keep(n, film)) // interesting, but dealt with
	}
	return err == nil
}

// keep stores a film that makes trouble where a person can look at it.
func (c *census) keep(n int, film []byte) string {
	path := filepath.Join(c.t.ArtifactDir(), fmt.Sprintf("mutant-%d-%d", c.run, n))
	if err := os.WriteFile(path, film, 0o600); err != nil {
		c.t.Error(err)
	}
	return path
}

// count adds a film and reports whether what became of it is our fault.
func (c *census) count(v verdict, err error) (fault bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	touched := c.canary.touched() != ""
	if touched {
		c.touches++
	}
	switch {
	case errors.Is(err, errOurCrash):
		c.crashes++
	case errors.Is(err, errHang):
		c.hangs++
	case err != nil:
		c.damaged++
	}
	if v.End != "" {
		c.ends[v.Step+": "+v.End]++
	}
	if v.Sound != "" {
		c.sounds[v.Sound]++
	}
	c.slowest = max(c.slowest, v.Took)
	c.child, c.ourselves = max(c.child, v.ChildPeak), max(c.ourselves, v.OwnPeak)
	return touched || err != nil || v.End == unexplained || v.Sound == unexplained
}

func (c *census) summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d damaged films of %d kinds, run %d\n", mutants(), len(c.seeds), c.run)
	fmt.Fprintf(&b, "crashes of ours %d, hangs %d, touches of the canary %d, damaged outputs %d\n", c.crashes, c.hangs, c.touches, c.damaged)
	fmt.Fprintf(&b, "slowest %v, most memory %d MiB, of ours %d MiB\n", c.slowest.Round(10*time.Millisecond), c.child>>20, c.ourselves>>20)
	for _, list := range []struct {
		what   string
		counts map[string]int
	}{{"", c.ends}, {"sound: ", c.sounds}} {
		for _, end := range slices.Sorted(maps.Keys(list.counts)) {
			fmt.Fprintf(&b, "%6d  %s%s\n", list.counts[end], list.what, end)
		}
	}
	return b.String()
}

// plays wants a file that we made to be decoded without a complaint.
func plays(file string) error {
	_, said, err := toolSays("ffmpeg", "-v", "error", "-nostdin", "-i", file, "-fps_mode", "vfr", "-f", "null", "-")
	if err == nil && said != "" {
		err = fmt.Errorf("%s: %.300s", filepath.Base(file), said)
	}
	return err
}
