package probe_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

// TestAFileIsNotJudgedByAnFFprobeThatFails has one wait that ends in some way whatever it is given.
func TestAFileIsNotJudgedByAnFFprobeThatFails(t *testing.T) {
	t.Parallel()
	source := enginetest.Clip(t, "clip.mp4", "testsrc2=d=1:s=64x64:r=10", "-t", "1")
	for name, end := range map[string]string{"with an error": "exit 1", "without a word": "exit 0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := proberThatWaits(t, end)
			job := ffmpeg.Job{Source: source, OutDir: t.TempDir()}
			var runs []video.Execution
			job.Ran = func(x video.Execution) { runs = append(runs, x) }
			for begun := time.Now(); len(runs) != 2; time.Sleep(time.Second) { // until one waits: it is started while no other runs
				runs = nil
				found, err := p.Probe(t.Context(), job)
				if err != nil || len(found.Streams) != 2 || time.Since(begun) > time.Minute {
					t.Fatalf("Probe = %+v, %v, with the runs %+v; want the two streams of the clip", found, err, runs)
				}
			}
			if !slices.Contains(runs[0].Arguments, "-o") || slices.Contains(runs[1].Arguments, "-o") || runs[1].Result != video.ExecutionOK {
				t.Errorf("it was looked into by %+v; want one that failed, and another", runs)
			}
		})
	}
}

// proberThatWaits returns a prober for which an ffprobe waits that ends as a script does.
func proberThatWaits(t *testing.T, end string) *probe.Prober {
	t.Helper()
	real, err := exec.LookPath("ffprobe")
	if err != nil {
		t.Fatal(err)
	}
	run, err := ffmpeg.New(t.Context(), ffmpeg.Config{FFprobe: enginetest.Script(t, fmt.Sprintf(
		`case " $* " in *\ -o\ *) for last; do :; done; : > "${last#file:}"; %s;; esac`+"\nexec %s \"$@\"\n", end, real))})
	if err != nil {
		t.Fatal(err)
	}
	p := probe.New(run, probe.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	dir, kept := filepath.Join(t.TempDir(), "standby"), make(chan struct{})
	go func() {
		p.Keep(ctx, dir, func(error) {})
		close(kept)
	}()
	t.Cleanup(func() { cancel(); <-kept })
	return p
}
