package ffmpeg

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/video"
)

// tiny is a whole video: one frame of YUV4MPEG.
const tiny = "YUV4MPEG2 W2 H2 F1:1 C420jpeg\nFRAME\n......"

// newAhead returns an Ahead that describes videos, and the folder that it works in. The folder is
// empty again when the test ends.
func newAhead(t *testing.T, run *Runner) (a *Ahead, dir string) {
	t.Helper()
	dir = t.TempDir()
	ctx, end := context.WithCancel(t.Context())
	a = NewAhead(run, sandbox.Policy{Memory: 512 << 20, CPU: 10 * time.Second, Threads: MaxThreads(0, 0)}, describeArgs)
	a.Start(ctx, dir)
	t.Cleanup(func() {
		end()
		eventually(t, "the program that waits to end", func() bool {
			left, err := os.ReadDir(dir)
			return err == nil && len(left) == 0
		})
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

func TestWhatIsOfNoUseIsNotStartedAgain(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		ffprobe string
		source  string
		want    error
	}{
		"a version that does not wait":       {ffprobe: shell(t, "echo no banner, no waiting\n"), want: errNotWaiting},
		"one that prints nothing at all":     {ffprobe: shell(t, ""), want: errNotWaiting},
		"one that is not there":              {ffprobe: "/nowhere/ffprobe", want: ErrNotStarted},
		"a file that cannot have a 2nd name": {ffprobe: shell(t, "echo banner >&2\n"), source: "/nowhere/source", want: errNotLinked},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := NewAhead(&Runner{ffprobe: tt.ffprobe, sandbox: new(sandbox.Sandbox)}, sandbox.Policy{}, describeArgs)
			if tt.source != "" {
				go func() {
					for errors.Is(a.Probe(t.Context(), Job{Source: tt.source}, nil), ErrNoneAhead) {
						time.Sleep(time.Millisecond)
					}
				}()
			}
			if err := a.offer(t.Context(), t.TempDir()); !errors.Is(err, tt.want) {
				t.Errorf("offer = %v; want %v", err, tt.want)
			}
		})
	}
}

func TestTheNextWaitsForTheEndOfAllOthers(t *testing.T) {
	t.Parallel()
	var c children
	if !c.waitForNone(t.Context()) {
		t.Error("without children it waits")
	}
	first, second := c.begin(), c.begin()
	none := make(chan bool)
	go func() { none <- c.waitForNone(t.Context()) }()
	first()
	select {
	case <-none:
		t.Error("it does not wait for the second child")
	case <-time.After(20 * time.Millisecond):
	}
	second()
	if !<-none {
		t.Error("it returns as if the context had ended")
	}
	ended, end := context.WithCancel(t.Context())
	defer c.begin()()
	end()
	if c.waitForNone(ended) {
		t.Error("it ignores the end of its context")
	}
}
