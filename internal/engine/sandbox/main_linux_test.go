//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/engine/sandbox/launch"
	"github.com/spool-video/spool/test/need"
)

// The program of the tests starts itself in several roles: as the helper of the
// sandbox, as the server does, and as processes that only these tests need.
const (
	roleVariable   = "SANDBOX_TEST_ROLE"
	targetVariable = "SANDBOX_TEST_TARGET"
)

var roles = map[string]func() error{
	"attacker outside": attackOutside,
	"server":           serveUntilKilled,
	"ordinary user":    useAsOrdinaryUser,
	"old kernel":       openWithoutLandlock,
}

func TestMain(m *testing.M) {
	// A helper has no role: its environment is empty.
	if role := os.Getenv(roleVariable); role != "" {
		if err := roles[role](); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// inRole describes a run of this program in one of its roles.
func inRole(ctx context.Context, role string, env ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Env = append(append(os.Environ(), roleVariable+"="+role), env...)
	return cmd
}

func attackOutside() error {
	var t target
	if err := json.Unmarshal([]byte(os.Getenv(targetVariable)), &t); err != nil {
		return err
	}
	runtime.LockOSThread()
	attackAll(t, os.Stdout)
	return nil
}

func openSomehow() error {
	_, err := Open(On, slog.New(slog.DiscardHandler))
	return err
}

// openSandbox opens the sandbox, or skips the test where the kernel has none.
func openSandbox(t testing.TB) *Sandbox {
	t.Helper()
	if _, err := launch.Available(); err != nil {
		need.Missing(t, "Landlock and seccomp: %v", err)
	}
	s, err := Open(On, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// find returns the path of a program.
func find(t testing.TB, name string) string {
	t.Helper()
	return need.Program(t, name)
}

// job is an input and a folder for the output, as a task has them.
type job struct{ source, out string }

func newJob(t testing.TB) job {
	t.Helper()
	dir := t.TempDir()
	j := job{filepath.Join(dir, "in", "source"), filepath.Join(dir, "out")}
	if err := errors.Join(os.Mkdir(filepath.Dir(j.source), 0o700), os.Mkdir(j.out, 0o700)); err != nil {
		t.Fatal(err)
	}
	return j
}

func (j job) policy() Policy { return Policy{Read: []string{j.source}, WriteDir: j.out} }

// run executes a command to its end. It holds on to its thread, as all callers
// of Command have to.
func run(c *Child) (stdout, stderr string, err error) { return outputOf(c.Cmd, c.Run) }

// runCmd does the same with what may not be a child of a sandbox.
func runCmd(cmd *exec.Cmd) (stdout, stderr string, err error) { return outputOf(cmd, cmd.Run) }

func outputOf(cmd *exec.Cmd, run func() error) (stdout, stderr string, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	err = run()
	return out.String(), complaints.String(), err
}

// makeVideo makes a video of a second with video and audio.
func makeVideo(t testing.TB, path, size string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), find(t, "ffmpeg"), "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=r=25:d=1:s="+size,
		"-f", "lavfi", "-i", "sine=d=1", "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac", "-f", "mp4", path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make a video: %v\n%s", err, out)
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	off, err := Open(Off, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := off.Report().String(), "landlock=off seccomp=off rlimits=off cgroup=off"; got != want {
		t.Errorf("switched off, the report is %q; want %q", got, want)
	}
	if !strings.Contains(log.String(), "level=WARN") {
		t.Errorf("switching off is not loud: the log says %q", log.String())
	}
	if _, err := Open("maybe", slog.New(slog.NewTextHandler(io.Discard, nil))); err == nil {
		t.Error("a mode that does not exist was accepted")
	}
	on := Report{Landlock: 7, Seccomp: true, Limits: true}
	if got, want := on.String(), "landlock=7 seccomp=on rlimits=on cgroup=off"; got != want {
		t.Errorf("the report is %q; want %q", got, want)
	}
}
