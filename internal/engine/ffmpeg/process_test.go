package ffmpeg

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/test/child"
)

func TestNewFindsTheTools(t *testing.T) {
	t.Parallel()
	if v := sandboxed(t).Version(); v == "" || v[0] < '0' || v[0] > '9' && v[0] != 'n' && v[0] != 'N' {
		t.Errorf("Version = %q; want a version", v)
	}
	_, err := New(t.Context(), Config{FFmpeg: "/nowhere/ffmpeg"})
	if err == nil || !strings.Contains(err.Error(), "install the ffmpeg package") {
		t.Errorf("New without ffmpeg = %v; want advice", err)
	}
	_, err = New(t.Context(), Config{FFmpeg: child.Script(t, "echo nothing\n")})
	if err == nil || !strings.Contains(err.Error(), "libx264") {
		t.Errorf("New with a poor build = %v; want the missing encoder named", err)
	}
}

func TestOldVersionsAreRefused(t *testing.T) {
	t.Parallel()
	for version, old := range map[string]bool{
		"4.4.2-0ubuntu0.22.04.1": true, "5.0": true, "n4.4": true, "3": true, "0.8.17": true,
		"5.1.9-0+deb12u1": false, "5.1": false, "6": false, "n7.0.1": false, "10.0": false, "N-110728-g5a5b8e3f4e": false, "git-2024-01-01": false,
	} {
		if got := tooOld(version); got != old {
			t.Errorf("tooOld(%s) = %t", version, got)
		}
	}
	_, err := New(t.Context(), Config{FFmpeg: child.Script(t, "echo ' V..... libx264 x\n A..... aac x\n V..... mjpeg x '\necho 'ffmpeg version 4.4.2 Copyright' >&2\n")})
	if err == nil || !strings.Contains(err.Error(), "needs 5.1 or newer") {
		t.Errorf("New with an old version = %v", err)
	}
}

// A program that is gone, or half of it there, is no fault of the file.
func TestAProgramThatIsBeingReplaced(t *testing.T) {
	t.Parallel()
	half := filepath.Join(t.TempDir(), "ffmpeg")
	if err := os.WriteFile(half, []byte("\x7fELF, the rest is still being copied"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]*Runner{"sandboxed": sandboxed(t), "without a sandbox": {sandbox: new(sandbox.Sandbox)}} {
		for _, bin := range []string{"/nowhere/ffmpeg", half} {
			_, err := run.run(t.Context(), process{bin: bin, stdout: func(r io.Reader) error { return nil }})
			if !errors.Is(err, ErrNotStarted) {
				t.Errorf("%s, %s: %v; want that it was not started", name, bin, err)
			}
		}
	}
}

// A program that ends well and did nothing says nothing about the file.
func TestAProgramThatIsNoFFmpeg(t *testing.T) {
	t.Parallel()
	for what, body := range map[string]string{
		"silent": "exit 0\n", "chatty": "echo 'progress=??? \033[31m'; echo nonsense\n", "half of it": "echo frame=1; echo progress=continue\n",
	} {
		run := &Runner{sandbox: new(sandbox.Sandbox), ffmpeg: child.Script(t, body), stall: time.Minute}
		if _, err := run.Encode(t.Context(), Job{}, sandbox.Policy{}, nil, func(float64) {}); !errors.Is(err, ErrNotFFmpeg) {
			t.Errorf("%s: %v; want that it is not ffmpeg", what, err)
		}
	}
	run := &Runner{sandbox: new(sandbox.Sandbox), ffmpeg: child.Script(t, "echo frame=0; echo progress=end\n"), stall: time.Minute}
	if _, err := run.Encode(t.Context(), Job{}, sandbox.Policy{}, nil, func(float64) {}); err != nil {
		t.Errorf("ffmpeg that found no frame: %v", err)
	}
}

// TestStopKillsTheWholeGroup cancels a child that has a child of its own, which
// holds the pipe open.
func TestStopKillsTheWholeGroup(t *testing.T) {
	t.Parallel()
	stop := errors.New("deleted by its owner")
	ctx, cancel := context.WithCancelCause(t.Context())
	begun := time.Now()
	run := &Runner{sandbox: new(sandbox.Sandbox)}
	_, err := run.run(ctx, process{
		bin: child.Script(t, "sleep 60 &\necho started\nwait\n"),
		stdout: func(r io.Reader) error {
			if _, err := r.Read(make([]byte, 16)); err != nil {
				return err
			}
			cancel(stop)
			_, err := io.Copy(io.Discard, r) // ends when nobody holds the pipe any more
			return err
		},
	})
	if !errors.Is(err, stop) {
		t.Errorf("run = %v; want the cause of the stop", err)
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("stopping took %v", took)
	}
}

func TestRunKeepsTheEndOfWhatWasSaid(t *testing.T) {
	t.Parallel()
	run := &Runner{sandbox: new(sandbox.Sandbox)}
	stderr, err := run.run(t.Context(), process{
		bin:    child.Script(t, `i=0; while [ $i -lt 3000 ]; do echo "line $i of a very long complaint about nothing in particular, at length" >&2; i=$((i+1)); done; echo "the last word" >&2; env >&2; exit 3`),
		stdout: func(r io.Reader) error { return nil },
	})
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "the last word") {
		t.Errorf("run = %v; want the status and the last word", err)
	}
	if len(stderr) > keptStderr || len(err.Error()) > quotedStderr+100 {
		t.Errorf("kept %d bytes and quoted %d", len(stderr), len(err.Error()))
	}
	if strings.Contains(stderr, "GOPATH=") || strings.Contains(stderr, "USER=") || !strings.Contains(stderr, "HOME=/nonexistent") {
		t.Error("the child saw our environment")
	}
}

func TestAReaderThatPanicsLeavesNoProgram(t *testing.T) {
	t.Parallel()
	// One frame of YUV4MPEG is a whole video.
	job := Job{Source: filepath.Join(t.TempDir(), "source"), OutDir: t.TempDir()}
	if err := os.WriteFile(job.Source, []byte("YUV4MPEG2 W2 H2 F1:1 C420jpeg\nFRAME\n......"), 0o600); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic of the reader got lost")
			}
		}()
		_, _ = sandboxed(t).Probe(t.Context(), job, sandbox.Policy{Read: []string{job.Source}, Threads: MaxThreads(0)},
			[]string{"-v", "error", "-show_entries", "stream=width", "-i", FileURL(job.Source)}, func(io.Reader) error { panic("a fault of ours") })
	}()
	// Other tests run beside this one, and their children may be zombies for a moment.
	for began := time.Now(); len(zombies(t)) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("no one waited for these children: %q", zombies(t))
		}
	}
}

// zombies returns the children of this process that have ended without being waited for.
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
