package hostile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/sandbox"
)

const (
	// mutantTime is how long a damaged video may occupy a worker: until an
	// ffprobe that goes in circles is stopped, and a few runs that stall.
	mutantTime = 30*time.Second + 5*stall
	// stillAt is when a picture of each video is taken, in seconds.
	stillAt = 0.5
)

// census counts what became of the videos.
type census struct {
	t     *testing.T
	run   uint64
	seeds []seed
	dir   string // with a folder for each video

	mu               sync.Mutex
	films            int
	ends             map[string]int // by step and end
	codes            map[string]int // that a client sees
	sounds           map[string]int
	faults           map[string]int // of ours, by kind
	slowest          time.Duration
	slowestFilm      string
	child, ourselves int64
}

func newCensus(t *testing.T) *census {
	t.Helper()
	return &census{t: t, run: uint64(number(t, runVariable, 1)), seeds: slices.Concat(makeSeeds(t), foundSeeds(t)),
		dir: t.TempDir(), ends: map[string]int{}, codes: map[string]int{}, sounds: map[string]int{}, faults: map[string]int{}}
}

// examineMutants examines videos until there are no more. An examiner that
// crashed or hangs is replaced.
func (c *census) examineMutants(numbers <-chan int, canary *canary) {
	var e *examiner
	defer func() {
		if e != nil {
			e.close()
		}
	}()
	lists := temptations(canary.Bait)
	for n := range numbers {
		if e == nil {
			var err error
			if e, err = newExaminer(c.t.Context(), sandbox.On); err != nil {
				c.t.Error(err)
				continue // the numbers have to be taken by somebody
			}
		}
		film, how := mutant(c.run, uint64(n), c.seeds, lists)
		v, fault := c.examine(e, canary, film)
		c.count(v, fault, fmt.Sprintf("mutant %d (%s)", n, how))
		c.report(n, film, how, v, fault)
		if errors.Is(fault, errOurCrash) || errors.Is(fault, errHang) {
			e.close()
			e = nil
		}
	}
}

// examine has one video examined and returns what is wrong with the verdict.
func (c *census) examine(e *examiner, canary *canary, film []byte) (v verdict, fault error) {
	dir, err := os.MkdirTemp(c.dir, "")
	if err != nil {
		return v, err
	}
	defer os.RemoveAll(dir)
	o, err := newJob(dir, film)
	if err != nil {
		return v, err
	}
	o.Thumbnails = []float64{stillAt}
	if err := canary.sitBeside(o); err != nil {
		return v, err
	}
	v, err = e.examine(o)
	if how := canary.touched(); how != "" {
		err = errors.Join(err, fmt.Errorf("%w: %s", errTouched, how))
	}
	if err != nil {
		return v, err
	}
	if v.Took > mutantTime {
		return v, fmt.Errorf("%w: %v", errTooSlow, v.Took)
	}
	return v, cmp.Or(v.fault(), checkOutputs(v))
}

// Faults of ours besides a crash and a hang, whatever the file.
var (
	errTouched     = errors.New("the canary was reached")
	errTooSlow     = errors.New("it took too long")
	errUnexplained = errors.New("nobody can tell what is wrong with the file")
	errBadSentence = errors.New("this is no reason for a person")
	errDamaged     = errors.New("an output is damaged")
)

// checkOutputs wants what was made to play, and to show nothing of the canary.
func checkOutputs(verdicts ...verdict) error {
	var made []output
	for _, v := range verdicts {
		for _, file := range v.Files {
			made = append(made, output{file, filepath.Base(file) == filmName && v.Sound == Converted})
		}
	}
	if len(made) == 0 {
		return nil
	}
	stolen, err := view(made...)
	if stolen != "" {
		return fmt.Errorf("%w: it is in %s", errTouched, filepath.Base(stolen))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	return nil
}

// checkAllOutputs is checkOutputs for all files of a test, by their names. Only when
// something is wrong each file is looked at alone.
func checkAllOutputs(t *testing.T, verdicts map[string]verdict) {
	t.Helper()
	err := checkOutputs(slices.Collect(maps.Values(verdicts))...)
	if err == nil {
		return
	}
	t.Error(err)
	for name, v := range verdicts {
		if err := checkOutputs(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func (c *census) count(v verdict, fault error, film string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.films++; c.films%250 == 0 {
		c.t.Logf("%d videos are examined", c.films)
	}
	if fault != nil {
		c.faults[kindOfFault(fault)]++
	}
	if v.End == "" {
		return // there is no verdict
	}
	c.ends[v.Step+": "+v.End]++
	c.codes[codeOf(v.End)]++
	if v.Sound != "" {
		c.sounds[v.Sound]++
	}
	if v.Took > c.slowest {
		c.slowest, c.slowestFilm = v.Took, film
	}
	c.child, c.ourselves = max(c.child, v.ChildPeak), max(c.ourselves, v.OwnPeak)
}

func kindOfFault(err error) string {
	for _, kind := range []error{errOurCrash, errHang, errTouched, errTooSlow, errUnexplained, errBadSentence, errDamaged} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return "other"
}

// report tells about a video that is our fault, and about those that met a limit,
// which is as it should be, but worth to know.
func (c *census) report(n int, film []byte, how string, v verdict, fault error) {
	_, limited := kinds[v.End]
	_, extraLimited := kinds[cmp.Or(strings.TrimPrefix(v.Sound, cannotHear), v.Stills)]
	report := fmt.Sprintf("mutant %d (%s): %s at %s after %v, sound %q: %.500s", n, how, v.End, v.Step, v.Took.Round(time.Millisecond), v.Sound, v.Err)
	switch {
	case fault != nil:
		c.t.Errorf("%s: %v; stored as %s", report, fault, c.keep(n, film))
	case limited, extraLimited:
		c.t.Logf("%s; stored as %s", report, c.keep(n, film))
	}
}

// keep stores a video for a person to look at, which go test removes at its end
// without -artifacts.
func (c *census) keep(n int, film []byte) string {
	path := filepath.Join(c.t.ArtifactDir(), fmt.Sprintf("mutant-%d-%d", c.run, n))
	if err := os.WriteFile(path, film, 0o600); err != nil {
		c.t.Error(err)
	}
	return path
}

// checkSpread wants all videos to have been judged, and to be neither hardly
// damaged nor damaged beyond all use: such videos would prove little.
func (c *census) checkSpread(films int) {
	c.t.Helper()
	if c.films != films {
		c.t.Errorf("%d videos of %d were examined", c.films, films)
	}
	if converted := c.codes[Converted]; converted < films/5 || converted > films*4/5 {
		c.t.Errorf("%d videos of %d were converted; want a fifth to four fifths", converted, films)
	}
}

func (c *census) summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d damaged films of %d kinds, run %d\n", c.films, len(c.seeds), c.run)
	fmt.Fprintf(&b, "slowest %v: %s\n", c.slowest.Round(10*time.Millisecond), c.slowestFilm)
	fmt.Fprintf(&b, "most memory %d MiB, of ours %d MiB\n", c.child>>20, c.ourselves>>20)
	for _, list := range []struct {
		what   string
		counts map[string]int
	}{{"faults", c.faults}, {"codes", c.codes}, {"steps", c.ends}, {"sound", c.sounds}} {
		fmt.Fprintf(&b, "%s:\n", list.what)
		for _, key := range slices.Sorted(maps.Keys(list.counts)) {
			fmt.Fprintf(&b, "%6d  %s\n", list.counts[key], key)
		}
	}
	return b.String()
}
