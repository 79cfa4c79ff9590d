package ffmpeg

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/video"
)

// lookArgs are those of a look at a file.
func lookArgs(source string) []string {
	return append(append([]string{"-v", "error"}, InputArgs()...), "-show_streams", "-show_packets", "-of", "json", "-i", FileURL(source))
}

func lookPolicy(job Job) sandbox.Policy {
	return sandbox.Policy{Read: []string{job.Source}, Memory: 512 << 20, CPU: time.Minute, Threads: MaxThreads(0, 0)}
}

// standbyOf keeps a child waiting until the test ends, and makes sure that nothing is left then.
func standbyOf(t *testing.T, run *Runner) *Standby {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	dir := filepath.Join(t.TempDir(), "standby")
	s, kept := run.NewStandby(lookPolicy, lookArgs), make(chan struct{})
	go func() {
		s.Keep(ctx, dir, func(err error) { t.Errorf("no child is kept: %v", err) })
		close(kept)
	}()
	t.Cleanup(func() {
		cancel()
		<-kept
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) || run.running.Load() != 0 {
			t.Errorf("%d children and their folder are left (%v)", run.running.Load(), err)
		}
	})
	return s
}

// waiterOf returns the child that waits, when there is one.
func waiterOf(t *testing.T, s *Standby) *waiter {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(10 * time.Millisecond) {
		if w := s.waiting.Load(); w != nil {
			return w
		}
	}
	t.Fatal("no child waits")
	return nil
}

// sourceOf makes the folders of a task with a file in them.
func sourceOf(t *testing.T, content []byte) Job {
	t.Helper()
	job := Job{Source: filepath.Join(t.TempDir(), "source"), OutDir: t.TempDir()}
	if err := os.WriteFile(job.Source, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return job
}

// TestStandbySaysWhatAnyOtherSays gives files, good and bad ones, to children that wait and to others.
func TestStandbySaysWhatAnyOtherSays(t *testing.T) {
	t.Parallel()
	run := sandboxed(t)
	clip, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=d=1:s=64x64",
		"-c:v", "libx264", "-preset", "ultrafast", "-f", "mp4", "-movflags", "frag_keyframe+empty_moov", "pipe:1").Output()
	if err != nil {
		t.Fatal(err)
	}
	s := standbyOf(t, run)
	for name, content := range map[string][]byte{"a clip": clip, "no video": []byte("#EXTM3U\nsource\n"), "a part": clip[:600]} {
		job := sourceOf(t, content)
		var want, got []byte
		wantErr, err := run.Probe(t.Context(), job, lookPolicy(job), lookArgs(job.Source), Answer(&want))

		waiterOf(t, s)
		var told video.Execution
		job.Ran = func(x video.Execution) { told = x }
		begun := time.Now()
		gotErr, ran, err2 := s.Probe(t.Context(), job, Answer(&got))
		if !ran || !bytes.Equal(got, want) || gotErr != wantErr || (err == nil) != (err2 == nil) {
			t.Errorf("%s: the one that waits (%t) says %q, %q, %v; another %q, %q, %v", name, ran, got, gotErr, err2, want, wantErr, err)
		}
		if told.StartedAt.Before(begun) || told.Program != "ffprobe" || strings.Contains(strings.Join(told.Arguments, " "), os.TempDir()) {
			t.Errorf("%s: the run is told as %+v", name, told)
		}
	}
}

// TestStandbyThatDied is not used, and replaced.
func TestStandbyThatDied(t *testing.T) {
	t.Parallel()
	s, job := standbyOf(t, sandboxed(t)), sourceOf(t, []byte("nothing"))
	w := waiterOf(t, s)
	w.stop(errors.New("killed by the test"))
	<-w.gone
	s.waiting.Store(w) // as one finds it that dies this very moment
	if _, ran, err := s.Probe(t.Context(), job, Answer(new([]byte))); ran || err != nil {
		t.Errorf("a dead child was used: %t, %v", ran, err)
	}
	if err := os.Symlink(job.Source, job.Source+".link"); err != nil {
		t.Fatal(err)
	}
	alive := waiterOf(t, s)
	if _, ran, err := s.Probe(t.Context(), Job{Source: job.Source + ".link", OutDir: job.OutDir}, Answer(new([]byte))); ran || err != nil {
		t.Errorf("a link was given to a child that may not follow it: %t, %v", ran, err)
	}
	if next := waiterOf(t, s); next != alive {
		t.Error("a child that could not take a file does not wait for the next one")
	}
}

// shellStandby has a script in the place of ffprobe. Its last argument is the pipe.
func shellStandby(t *testing.T, script string) *Runner {
	t.Helper()
	return &Runner{sandbox: new(sandbox.Sandbox), ffprobe: shell(t, `for last; do :; done; last="${last#file:}"`+"\n"+script)}
}

// TestStandbyIsStopped ends tasks whose child does not.
func TestStandbyIsStopped(t *testing.T) {
	t.Parallel()
	s := standbyOf(t, shellStandby(t, `exec 3>"$last"; echo more >&3; read x < /dev/zero`))
	stop, refusal := errors.New("deleted by its owner"), errors.New("enough")

	waiterOf(t, s)
	ctx, cancel := context.WithCancelCause(t.Context())
	read := func(r io.Reader) error {
		if _, err := r.Read(make([]byte, 16)); err != nil {
			return err
		}
		cancel(stop)
		_, err := io.Copy(io.Discard, r)
		return err
	}
	if _, ran, err := s.Probe(ctx, sourceOf(t, nil), read); !ran || !errors.Is(err, stop) {
		t.Errorf("after a stop: %t, %v; want its cause", ran, err)
	}
	waiterOf(t, s)
	if _, ran, err := s.Probe(t.Context(), sourceOf(t, nil), func(io.Reader) error { return refusal }); !ran || !errors.Is(err, refusal) {
		t.Errorf("after a refusal: %t, %v; want it", ran, err)
	}
}

// TestStandbyThatDoesNotWait is not started again and again.
func TestStandbyThatDoesNotWait(t *testing.T) {
	t.Parallel()
	run := shellStandby(t, "echo Unrecognized option >&2; exit 1")
	ctx, cancel := context.WithCancel(t.Context())
	var told error
	run.NewStandby(lookPolicy, lookArgs).Keep(ctx, filepath.Join(t.TempDir(), "standby"), func(err error) { told = err; cancel() })
	if told == nil || !strings.Contains(told.Error(), "Unrecognized option") || run.begun.Load() != maxUnused {
		t.Errorf("a program that does not wait was started %d times, and then %v", run.begun.Load(), told)
	}
}
