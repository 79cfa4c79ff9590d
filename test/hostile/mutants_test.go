package hostile

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/test/need"
)

const (
	// mutantsVariable is how many damaged videos to make. Who sets it has time,
	// also for the bombs that take long.
	mutantsVariable = "SPOOL_TEST_MUTANTS"
	fewMutants      = 24
	manyMutants     = 500 // when there is time
	// runVariable chooses other videos; the same number makes the same ones.
	runVariable = "SPOOL_TEST_MUTANTS_RUN"
	// fileVariable names a video that a run has kept, to look at it alone.
	fileVariable = "SPOOL_TEST_MUTANT"
)

// number reads a variable that is a number above zero, when it is set.
func number(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q; want a number above zero", variable, text)
	}
	return n
}

// TestMutants sends videos that were damaged at random through the engine. What
// becomes of each is an end that a worker knows, and soon.
func TestMutants(t *testing.T) {
	needTools(t)
	t.Parallel()
	usual := fewMutants
	if need.Long() {
		usual = manyMutants
	}
	films, c := number(t, mutantsVariable, usual), newCensus(t)
	numbers := make(chan int)
	var examiners sync.WaitGroup
	for range 2 {
		canary := newCanary(t)
		examiners.Go(func() { c.examineMutants(numbers, canary) })
	}
	for n := range films {
		numbers <- n
	}
	close(numbers)
	examiners.Wait()
	t.Log(c.summary())
	c.checkSpread(films)
}

// TestSeeds has the videos examined before they are damaged. An engine that
// refuses them all would do very well with the damaged ones.
func TestSeeds(t *testing.T) {
	needTools(t)
	t.Parallel()
	e, verdicts := startExaminer(t, sandbox.On), map[string]verdict{}
	for _, s := range makeSeeds(t) {
		if !need.Long() && slices.Contains(twins, s.name) {
			continue
		}
		o, err := newJob(t.TempDir(), s.film)
		if err != nil {
			t.Fatal(err)
		}
		o.Thumbnails = []float64{stillAt}
		v := e.mustExamine(t, o)
		if v.End != Converted || len(v.Files) != 2 {
			t.Errorf("%s ends with %s (%s) at %s and %q; want a video and a still", s.name, v.End, v.Err, v.Step, v.Files)
		}
		if s.sound != (v.Sound == Converted) {
			t.Errorf("the audio of %s ends with %q; it has some: %v", s.name, v.Sound, s.sound)
		}
		verdicts[s.name] = v
	}
	checkAllOutputs(t, verdicts)
}

// TestOneMutant examines a video that made trouble in a run before.
func TestOneMutant(t *testing.T) {
	path := os.Getenv(fileVariable)
	if path == "" {
		t.Skip("set " + fileVariable + " to the path of a film")
	}
	needTools(t)
	film, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := &census{t: t, dir: t.TempDir()}
	v, fault := c.examine(startExaminer(t, sandbox.On), newCanary(t), film)
	t.Logf("%+v", v)
	if fault != nil {
		t.Error(fault)
	}
}

func TestMutantsCanBeMadeAgain(t *testing.T) {
	t.Parallel()
	seeds := []seed{{name: "tiny", film: []byte("x")}, {name: "text", film: []byte("moov and mdat")}, {name: "long", film: bytes.Repeat([]byte("trakmdia\x00\x00\x00\x08"), 1000)}}
	lists := temptations(Bait{File: "/other.mp4", Neighbour: "neighbour.mp4", Address: "127.0.0.1:1"})
	different := map[string]bool{}
	const films = 2000
	for n := range uint64(films) {
		film, how := mutant(1, n, seeds, lists)
		again, howAgain := mutant(1, n, seeds, lists)
		if !bytes.Equal(film, again) || how != howAgain {
			t.Fatalf("mutant %d is another video the second time: %s, %s", n, how, howAgain)
		}
		if len(film) == 0 {
			t.Errorf("mutant %d (%s) is empty", n, how)
		}
		different[string(film)] = true
	}
	if len(different) < films/2 {
		t.Errorf("%d videos are %d different ones", films, len(different))
	}
	same := 0
	for n := range uint64(films) {
		if film, _ := mutant(2, n, seeds, lists); len(film) > 100 && different[string(film)] {
			same++
		}
	}
	if same > films/10 {
		t.Errorf("%d of %d videos of another run are the same", same, films)
	}
}

// TestMutantsDoNotDependOnTheFolder wants the same damage wherever the canary
// happens to lie.
func TestMutantsDoNotDependOnTheFolder(t *testing.T) {
	t.Parallel()
	seeds := []seed{{name: "film", film: bytes.Repeat([]byte("trakmdia\x00\x00\x00\x08"), 1000)}}
	here := temptations(Bait{File: "/a/other.mp4", Neighbour: "neighbour.mp4", Address: "127.0.0.1:1"})
	there := temptations(Bait{File: "/tmp/TestMutants4711/001/other.mp4", Neighbour: "neighbour.mp4", Address: "127.0.0.1:54321"})
	for n := range uint64(500) {
		film, how := mutant(1, n, seeds, here)
		other, otherHow := mutant(1, n, seeds, there)
		if how != otherHow || len(film) != len(other) {
			t.Fatalf("mutant %d has %d bytes (%s) in one place and %d bytes (%s) in another", n, len(film), how, len(other), otherHow)
		}
	}
}
