package probe

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/video"
)

// aheadProber returns a prober with an ffprobe that waits.
func aheadProber(t *testing.T) *Prober {
	t.Helper()
	p := New(enginetest.NewRunner(t), Config{})
	dir := t.TempDir()
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.RunAhead(ctx, dir, slog.New(slog.DiscardHandler))
	}()
	t.Cleanup(func() { end(); <-ended })
	return p
}

// probeAhead gives a file to the ffprobe that waits, as soon as one does.
func (p *Prober) probeAhead(t *testing.T, job ffmpeg.Job) (found *Result, err error) {
	t.Helper()
	found, err = p.newResult(nil), ffmpeg.ErrNoneAhead
	for began := time.Now(); errors.Is(err, ffmpeg.ErrNoneAhead); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("waited a minute in vain for an ffprobe that waits")
		}
		err = p.ahead.Probe(t.Context(), job, found.Read)
	}
	return found, err
}

// linkedJob is a job whose source is a second name of a file, as in a worker.
func linkedJob(t *testing.T, source string) ffmpeg.Job {
	t.Helper()
	job := ffmpeg.Job{Source: filepath.Join(t.TempDir(), "source"), OutDir: t.TempDir()}
	if err := os.Link(source, job.Source); err != nil {
		t.Fatal(err)
	}
	return job
}

func TestAProbeAheadFindsTheSame(t *testing.T) {
	t.Parallel()
	p, job := aheadProber(t), linkedJob(t, enginetest.Clip(t, "a.mp4", "testsrc2=s=64x64:r=25:d=1"))
	want := p.newResult(nil)
	if _, err := p.run.Probe(t.Context(), job, probePolicy(job, time.Minute), probeArgs(job.Source, nil), want.Read); err != nil {
		t.Fatal(err)
	}
	got, err := p.probeAhead(t, job)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("ahead: %+v, %v\nusual: %+v", got, err, want)
	}
}

// What fails ahead is judged, and told, as if nothing had been started ahead.
func TestABrokenFileIsJudgedAsUsual(t *testing.T) {
	t.Parallel()
	broken := filepath.Join(t.TempDir(), "broken.mp4")
	if err := os.WriteFile(broken, []byte("\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom, and no video"), 0o600); err != nil {
		t.Fatal(err)
	}
	ahead, usual := aheadProber(t), New(enginetest.NewRunner(t), Config{})
	_, want := usual.Probe(t.Context(), linkedJob(t, broken))
	job, runs := linkedJob(t, broken), 0
	job.Ran = func(video.Execution) { runs++ }
	if _, err := ahead.probeAhead(t, job); err == nil || runs != 0 {
		t.Errorf("ahead: %v, and %d runs are recorded", err, runs)
	}
	_, err := ahead.Probe(t.Context(), job)
	if err == nil || want == nil || err.Error() != want.Error() || runs != 1 {
		t.Errorf("%v after %d recorded runs; as usual: %v", err, runs, want)
	}
}
