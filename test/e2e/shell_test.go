package e2e

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spool-video/spool/test/rig"
)

// shell is a terminal that stays open: what is set in one run is there in the next.
// It is strict: a command that fails, or a variable that is not set, ends it.
type shell struct {
	dir    string
	in     io.Writer
	out    *rig.Transcript
	exited chan struct{}
	runs   int
}

// openShell starts a shell in a folder. It ends with the test, and with it all that it started.
func openShell(t testing.TB, dir string, env []string) *shell {
	t.Helper()
	cmd := exec.Command("sh", "-eu")
	cmd.Dir, cmd.Env = dir, env
	s := &shell{dir: dir, out: new(rig.Transcript), exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = s.out, s.out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 5 * time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.in = in
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // a command that failed has told so
		close(s.exited)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // all of it may be gone already
		<-s.exited
	})
	return s
}

// run runs lines and returns what they print. They come from a file, so that no command reads the next ones.
func (s *shell) run(lines string) (string, error) {
	s.runs++
	before := len(s.out.String())
	file, mark := fmt.Sprintf(".lines-%d", s.runs), fmt.Sprintf("@@%d@@", s.runs)
	if err := os.WriteFile(filepath.Join(s.dir, file), []byte(lines), 0o600); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(s.in, ". ./%s </dev/null\nprintf %%s %s\n", file, mark); err != nil {
		return s.out.String()[before:], err
	}
	limit := time.After(5 * time.Minute) // a film is encoded, beside all other tests
	for {
		if out, done := strings.CutSuffix(s.out.String()[before:], mark); done {
			return out, nil
		}
		select {
		case <-s.exited:
			if out, done := strings.CutSuffix(s.out.String()[before:], mark); done {
				return out, nil
			}
			return s.out.String()[before:], errors.New("the shell has ended")
		case <-limit:
			return s.out.String()[before:], errors.New("it takes too long")
		case <-time.After(pollPause):
		}
	}
}
