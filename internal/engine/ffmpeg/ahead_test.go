package ffmpeg

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/test/child"
)

// tiny is a whole video: one frame of YUV4MPEG.
const tiny = "YUV4MPEG2 W2 H2 F1:1 C420jpeg\nFRAME\n......"

// newAhead returns an Ahead that describes videos, and the folder that it works in. When the test has
// ended, nothing is left of it.
func newAhead(t *testing.T, run *Runner) (a *Ahead, dir string) {
	t.Helper()
	dir = t.TempDir()
	ctx, end := context.WithCancel(t.Context())
	a = NewAhead(run, sandbox.Policy{Memory: 512 << 20, CPU: 10 * time.Second, Threads: MaxThreads(0, 0)}, describeArgs)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.Run(ctx, dir, slog.New(slog.DiscardHandler))
	}()
	t.Cleanup(func() {
		end()
		<-ended
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("it leaves %v behind (%v)", left, err)
		}
	})
	return a, dir
}

func describeArgs(source string) []string {
	return []string{"-v", "error", "-hide_banner", "-show_entries", "stream=codec_name,width", "-of", "csv", "-i", FileURL(source)}
}

func eventually(t *testing.T, what string, reached func() bool) {
	t.Helper()
	for began := time.Now(); !reached(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("waited a minute in vain for %s", what)
		}
	}
}

// probe waits for a program that waits, and gives it the file.
func (a *Ahead) probe(t *testing.T, ctx context.Context, job Job) (printed string, err error) {
	t.Helper()
	eventually(t, "a program that waits", func() bool {
		err = a.Probe(ctx, job, func(r io.Reader) error {
			b, err := io.ReadAll(r)
			printed = string(b)
			return err
		})
		return !errors.Is(err, ErrNoneAhead)
	})
	return printed, err
}

func newSource(t *testing.T, content string) Job {
	t.Helper()
	job := Job{Source: filepath.Join(t.TempDir(), "source"), OutDir: t.TempDir()}
	if err := os.WriteFile(job.Source, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return job
}

func TestAnFFprobeWaitsForItsFile(t *testing.T) {
	t.Parallel()
	run := sandboxed(t)
	a, dir := newAhead(t, run)
	for _, what := range []string{"the first", "the second"} {
		job := newSource(t, tiny)
		var ran []video.Execution
		job.Ran = func(e video.Execution) { ran = append(ran, e) }
		printed, err := a.probe(t, t.Context(), job)
		if err != nil || printed != "stream,rawvideo,2\n" {
			t.Fatalf("%s program: printed %q, %v", what, printed, err)
		}
		if len(ran) != 1 || ran[0].Result != video.ExecutionOK || ran[0].Program != "ffprobe" || strings.Contains(strings.Join(ran[0].Arguments, " "), dir) {
			t.Errorf("%s program: recorded %+v", what, ran)
		}
		if _, err := os.Stat(job.Source); err != nil {
			t.Errorf("%s program: the file itself: %v", what, err)
		}
	}
}

func TestAnFFprobeThatWaitsSeesItsFileOnly(t *testing.T) {
	t.Parallel()
	secret := newSource(t, tiny)
	a, _ := newAhead(t, sandboxed(t))
	job := Job{Source: filepath.Join(t.TempDir(), "link"), OutDir: t.TempDir()}
	if err := os.Symlink(secret.Source, job.Source); err != nil {
		t.Fatal(err)
	}
	if printed, err := a.probe(t, t.Context(), job); err == nil {
		t.Errorf("it reads a file that it was not given: %q", printed)
	}
}

func TestAFileThatFailsIsNoMatterForTheNext(t *testing.T) {
	t.Parallel()
	a, _ := newAhead(t, sandboxed(t))
	if printed, err := a.probe(t, t.Context(), newSource(t, "no video")); err == nil {
		t.Errorf("no video is described as %q", printed)
	}
	if printed, err := a.probe(t, t.Context(), newSource(t, tiny)); err != nil || printed == "" {
		t.Errorf("after it, a video is %q, %v", printed, err)
	}
}

// A pipe without a writer keeps the program busy for ever.
func TestAProbeThatIsNotWantedAnyMoreEnds(t *testing.T) {
	t.Parallel()
	a, dir := newAhead(t, sandboxed(t))
	job := Job{Source: filepath.Join(t.TempDir(), "source"), OutDir: t.TempDir()}
	if err := syscall.Mkfifo(job.Source, 0o600); err != nil {
		t.Fatal(err)
	}
	why := errors.New("not wanted")
	ctx, stop := context.WithCancelCause(t.Context())
	go func() {
		for !slices.Contains(linked(dir), "source") {
			time.Sleep(time.Millisecond)
		}
		stop(why)
	}()
	if _, err := a.probe(t, ctx, job); !errors.Is(err, why) {
		t.Errorf("Probe = %v; want the cause", err)
	}
}

// linked returns the names of the files in the folders of a folder.
func linked(dir string) (names []string) {
	found, _ := filepath.Glob(filepath.Join(dir, "*", "*")) // the pattern is right
	for _, path := range found {
		names = append(names, filepath.Base(path))
	}
	return names
}

// A machine with much to do must not make it a pipe that is nearly empty.
func TestAFullPipeIsFull(t *testing.T) {
	t.Parallel()
	for range 20 {
		r, w, err := newFullPipe()
		if err != nil {
			t.Fatal(err)
		}
		_ = w.SetWriteDeadline(time.Now().Add(time.Millisecond))
		if n, err := w.Write([]byte{0}); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("it takes %d bytes more: %v", n, err)
		}
		r.Close()
		w.Close()
	}
}

func TestWhatIsOfNoUseIsNotStartedAgain(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		ffprobe string
		want    error
	}{
		"a version that does not wait":   {child.Script(t, "echo no banner, no waiting\n"), errNotWaiting},
		"one that prints nothing at all": {child.Script(t, ""), errNotWaiting},
		"one that is not there":          {"/nowhere/ffprobe", ErrNotStarted},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := NewAhead(unconfined(tt.ffprobe), sandbox.Policy{}, describeArgs)
			if err := a.offer(t.Context(), t.TempDir()); !errors.Is(err, tt.want) {
				t.Errorf("offer = %v; want %v", err, tt.want)
			}
		})
	}
}

// unconfined runs something else in the place of ffprobe.
func unconfined(ffprobe string) *Runner {
	return &Runner{ffprobe: ffprobe, sandbox: new(sandbox.Sandbox)}
}

// Files that cannot have a second name are probed in the usual way. One that is gone says nothing about others.
func TestAFileWithoutASecondName(t *testing.T) {
	t.Parallel()
	for what, tt := range map[string]struct {
		source string
		ahead  bool // goes on
	}{
		"a file that is gone": {"/nowhere/source", true},
		"a folder":            {t.TempDir(), false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			a := NewAhead(unconfined(child.Script(t, "echo banner >&2\n")), sandbox.Policy{}, describeArgs)
			offered := make(chan error, 1)
			go func() { offered <- a.offer(t.Context(), t.TempDir()) }()
			if _, err := a.probe(t, t.Context(), Job{Source: tt.source}); !errors.Is(err, errNotLinked) {
				t.Errorf("Probe = %v", err)
			}
			if err := <-offered; (err == nil) != tt.ahead {
				t.Errorf("offer = %v", err)
			}
		})
	}
}

// Without the sandbox, ffprobe may be a script: what it starts is in nobody's hands.
func TestAScriptThatLeavesSomethingBehind(t *testing.T) {
	t.Parallel()
	for what, script := range map[string]string{
		"a program in a group of its own": "setsid sh -c 'echo banner >&2; sleep 20' &\nwait\n",
		"one that keeps the pipes open":   "sleep 20 &\necho banner >&2\nsleep 20\n",
		"one that prints something":       "setsid sh -c 'echo banner >&2; echo {; sleep 20' &\nwait\n",
	} {
		for _, whose := range []string{"the task", "the server"} {
			t.Run(what+", then "+whose+" ends", func(t *testing.T) {
				t.Parallel()
				a := NewAhead(unconfined(child.Script(t, script)), sandbox.Policy{}, describeArgs)
				task, endTask := context.WithCancel(t.Context())
				defer endTask()
				server, endServer := context.WithCancel(t.Context())
				defer endServer()
				ended := make(chan struct{})
				dir := t.TempDir()
				go func() {
					defer close(ended)
					a.Run(server, dir, slog.New(slog.DiscardHandler))
				}()
				time.AfterFunc(500*time.Millisecond, map[string]func(){"the task": endTask, "the server": endServer}[whose])
				for a.Probe(task, newSource(t, tiny), func(r io.Reader) error { _, err := io.ReadAll(r); return err }) != nil && task.Err() == nil && server.Err() == nil {
					time.Sleep(time.Millisecond)
				}
				endServer()
				<-ended
			})
		}
	}
}

// One failure on a good file is enough to do without for a while, and not for ever.
func TestWhatFailsOnGoodFilesRests(t *testing.T) {
	t.Parallel()
	dir, mark := t.TempDir(), filepath.Join(t.TempDir(), "mark")
	// It fails until the mark is there.
	a := NewAhead(unconfined(child.Script(t, "echo banner >&2\ntest -e "+mark+" && echo fine\n")), sandbox.Policy{}, describeArgs)
	a.retry = 50 * time.Millisecond
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.Run(ctx, dir, slog.New(slog.DiscardHandler))
	}()
	defer func() { end(); <-ended }()
	none := func(r io.Reader) error {
		if b, err := io.ReadAll(r); err != nil || len(b) == 0 {
			return errors.New("nothing was printed")
		}
		return nil
	}
	eventually(t, "a program that waits", func() bool { return !errors.Is(a.Probe(t.Context(), newSource(t, tiny), none), ErrNoneAhead) })
	a.Useless()
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "one that works", func() bool { return a.Probe(t.Context(), newSource(t, tiny), none) == nil })
	eventually(t, "another one", func() bool { return a.Probe(t.Context(), newSource(t, tiny), none) == nil })
}

func TestAReaderThatPanicsLeavesNoProgram(t *testing.T) {
	t.Parallel()
	run := sandboxed(t)
	a, _ := newAhead(t, run)
	bad := func(io.Reader) error { panic("a fault of ours") }
	for _, probe := range map[string]func() error{
		"ahead": func() error {
			return a.Probe(t.Context(), newSource(t, tiny), bad)
		},
		"as usual": func() error {
			job := newSource(t, tiny)
			_, err := run.Probe(t.Context(), job, sandbox.Policy{Read: []string{job.Source}, Threads: MaxThreads(0, 0)}, describeArgs(job.Source), bad)
			return err
		},
	} {
		eventually(t, "a reader that panics", func() (panicked bool) {
			defer func() { panicked = recover() != nil }()
			_ = probe()
			return false
		})
	}
	// Other tests run beside this one, and their children may be zombies for a moment.
	eventually(t, "somebody to wait for all children", func() bool { return len(zombies(t)) == 0 })
}

// zombies returns the children of this process that have ended and that nobody has waited for.
func zombies(t *testing.T) (found []string) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		stat, _ := os.ReadFile(path) // it may be gone
		// "1234 (ffprobe) Z 1200 …": the state, and the id of the parent.
		_, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[0] == "Z" && fields[1] == strconv.Itoa(os.Getpid()) {
			found = append(found, string(stat[:min(len(stat), 40)]))
		}
	}
	return found
}

// A server that has nothing to do has no other processes: after the longest wait, another child must have begun.
func TestTheNextWaitsForAnotherChild(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c children
		if !c.waitForMore(t.Context(), -1) {
			t.Error("it does not begin at once")
		}
		c.begin()()
		if !c.waitForMore(t.Context(), 0) {
			t.Error("it waits although a child has begun")
		}
		began := time.Now()
		time.AfterFunc(time.Hour, func() { c.begin()() })
		if !c.waitForMore(t.Context(), c.count()) || time.Since(began) != time.Hour {
			t.Errorf("it waits for %s", time.Since(began))
		}
		ended, end := context.WithTimeout(t.Context(), time.Minute)
		defer end()
		if c.waitForMore(ended, c.count()) {
			t.Error("it ignores the end of its context")
		}
	})
}

func TestTheNextWaitsForCalm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c children
		began := time.Now()
		calm := func(want time.Duration) {
			t.Helper()
			if ok := c.waitForCalm(t.Context(), time.Second); !ok || time.Since(began) != want {
				t.Errorf("calm after %s: %t; want %s", time.Since(began), ok, want)
			}
			began = time.Now()
		}
		calm(time.Second)
		first, second := c.begin(), c.begin()
		go func() {
			time.Sleep(2 * time.Second)
			first()
			time.Sleep(2 * time.Second)
			second()
			time.Sleep(time.Second / 2)
			c.begin()()
		}()
		calm(6 * time.Second) // it looks at the end of each pause
		ended, end := context.WithCancel(t.Context())
		end()
		if c.waitForCalm(ended, time.Second) {
			t.Error("it ignores the end of its context")
		}
	})
}
