package child_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/spool-video/spool/test/child"
)

// parentVariable makes this test binary one that starts a program, says so, and
// waits for its end.
const parentVariable = "SPOOL_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentVariable) == "" {
		os.Exit(m.Run())
	}
	sleeper := exec.Command("sleep", "60")
	sleeper.Stdout = os.Stdout
	exited, err := child.Start(sleeper, syscall.SIGKILL)
	fmt.Println("started:", err)
	<-exited
}

// TestAProgramDiesWithWhoStartedIt reads what both can write to: it ends when
// both are gone.
func TestAProgramDiesWithWhoStartedIt(t *testing.T) {
	t.Parallel()
	parent := exec.CommandContext(t.Context(), "/proc/self/exe")
	parent.Env = append(os.Environ(), parentVariable+"=1")
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(stdout)
	if line, err := said.ReadString('\n'); line != "started: <nil>\n" {
		t.Fatalf("it says %q, %v", line, err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, said)
	}()
	select {
	case <-gone:
	case <-time.After(20 * time.Second):
		t.Error("the program outlives who started it")
	}
	_ = parent.Wait() // killed
}

func TestTheEndIsTold(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "exit 3")
	exited, err := child.Start(cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	<-exited
	if code := cmd.ProcessState.ExitCode(); code != 3 {
		t.Errorf("it ended with %d, want 3", code)
	}
	if exited, err = child.Start(exec.CommandContext(t.Context(), "/nonexistent"), syscall.SIGKILL); err == nil {
		t.Error("a program that does not exist was started")
	}
	<-exited
}
