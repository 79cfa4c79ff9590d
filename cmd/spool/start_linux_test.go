package main

import (
	"bytes"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/test/need"
)

// TestAHelperIsNotAServer starts this program, with all its packages, as the helper of a sandbox. It must
// get there before those packages are initialised: every ffmpeg and ffprobe waits for it.
func TestAHelperIsNotAServer(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "sandbox-exec")
	cmd.Env = []string{"GODEBUG=inittrace=1"}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err == nil || !strings.Contains(stderr.String(), "of no use by hand") {
		t.Fatalf("the helper ends with %v: %s", err, stderr.String())
	}
	if trace := stderr.String(); !strings.Contains(trace, "init os ") || strings.Contains(trace, "init net ") {
		t.Errorf("the helper begins after these packages; want none that needs the network:\n%s", trace)
	}
}

// BenchmarkStart measures what it takes to start a program from the server, with and without the sandbox.
func BenchmarkStart(b *testing.B) {
	program := need.Program(b, "true")
	for _, mode := range []sandbox.Mode{sandbox.Off, sandbox.On} {
		b.Run("sandbox="+string(mode), func(b *testing.B) {
			box, err := sandbox.Open(mode, slog.New(slog.DiscardHandler))
			if err != nil {
				b.Fatal(err)
			}
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			dir := b.TempDir()
			policy := sandbox.Policy{WriteDir: dir, Memory: 1 << 30, FileSize: 1 << 30, Threads: 500, Files: 500, Space: 1 << 30}
			var cpu time.Duration
			for b.Loop() {
				c := box.Command(b.Context(), policy, program)
				c.Cmd.Stderr = os.Stderr
				if err := c.Run(); err != nil {
					b.Fatal(err)
				}
				cpu += c.Cmd.ProcessState.UserTime() + c.Cmd.ProcessState.SystemTime()
			}
			b.ReportMetric(float64(cpu.Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}
