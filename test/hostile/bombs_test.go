package hostile

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/test/need"
)

const (
	// bombTime is a little more than the time that looking into a small file
	// may take, and slowTime is for videos of hours, if only of silence.
	bombTime = 40 * time.Second
	slowTime = 8 * time.Minute
	// bombMemory is what looking into a file may take, and slowMemory what
	// encoding small frames may, with the code of the libraries.
	bombMemory = 600 << 20
	slowMemory = 1200 << 20
	// ownMemory is what this program itself may take to look into a file, and
	// longMemory when that file has millions of frames.
	ownMemory  = 96 << 20
	longMemory = 512 << 20
)

// TestBombsStayInsideTheirLimits has every bomb examined as a worker would.
func TestBombsStayInsideTheirLimits(t *testing.T) {
	needTools(t)
	t.Parallel()
	e, verdicts := startExaminer(t, sandbox.On), map[string]verdict{}
	for _, s := range Bombs() {
		dir := t.TempDir() // what is made of the bomb stays until all have been examined
		ok := t.Run(s.Name, func(t *testing.T) {
			if !s.Slow {
				verdicts[s.Name] = checkBomb(t, e, s, dir)
				return
			}
			if os.Getenv(mutantsVariable) == "" {
				need.TimeFor(t, "a bomb that takes half a minute and more")
			}
			t.Parallel()
			checkAllOutputs(t, map[string]verdict{s.Name: checkBomb(t, startExaminer(t, sandbox.On), s, dir)})
		})
		if !ok {
			e = startExaminer(t, sandbox.On) // the peaks of the old one are those of this bomb for ever
		}
	}
	checkAllOutputs(t, verdicts)
}

func checkBomb(t *testing.T, e *examiner, s Sample, dir string) verdict {
	t.Helper()
	o, err := newJob(dir, s.Make())
	if err != nil {
		t.Fatal(err)
	}
	o.Thumbnails = []float64{0, 1e6}
	v := e.mustExamine(t, o)
	if err := os.Remove(o.Source); err != nil {
		t.Error(err)
	}
	if code := codeOf(v.End); !slices.Contains(s.Ends, code) {
		t.Errorf("ends with %s (%s at %s: %s); want one of %q", code, v.End, v.Step, v.Err, s.Ends)
	}
	checkLimits(t, v, s)
	return v
}

// checkLimits wants a file to have used no more than it may.
func checkLimits(t *testing.T, v verdict, s Sample) {
	t.Helper()
	t.Logf("%s at %s in %v, with %d MiB and %d MiB of ours (%s)", v.End, v.Step, v.Took.Round(10*time.Millisecond), v.ChildPeak>>20, v.OwnPeak>>20, v.Err)
	most, child, own := bombTime, int64(bombMemory), int64(ownMemory)
	if s.Slow {
		most, child = slowTime, slowMemory
	}
	if s.Long {
		own = longMemory
	}
	if v.Took > most || v.ChildPeak > child || v.OwnPeak > own {
		t.Errorf("took %v, %d MiB, and %d MiB of ours; want at most %v, %d and %d", v.Took, v.ChildPeak>>20, v.OwnPeak>>20, most, child>>20, own>>20)
	}
	if err := v.fault(); err != nil {
		t.Error(err)
	}
}
