//go:build amd64 || arm64

package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/spool-video/spool/internal/engine/sandbox/launch"
)

// startEndless starts an ffmpeg that runs until it is stopped, and returns when
// the helper has become it and it is at work.
func startEndless(ctx context.Context, s *Sandbox) (*Child, error) {
	cmd := s.Command(ctx, Policy{}, "ffmpeg",
		"-v", "error", "-nostdin", "-progress", "pipe:1", "-re", "-f", "lavfi", "-i", "testsrc2=s=64x64:r=5", "-f", "null", "-")
	stdout, err := cmd.Cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	_, err = bufio.NewReader(stdout).ReadString('\n')
	return cmd, err
}

// serveUntilKilled is a server with a running child, whose number it prints.
func serveUntilKilled() error {
	runtime.LockOSThread()
	s, err := Open(On, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	cmd, err := startEndless(context.Background(), s)
	if err != nil {
		return err
	}
	fmt.Println(cmd.Cmd.Process.Pid)
	return cmd.Wait()
}

func TestAChildDiesWithTheServer(t *testing.T) {
	t.Parallel()
	openSandbox(t)
	find(t, "ffmpeg")
	server := inRole(t.Context(), "server")
	child := watchChild(t, server)
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	child.mustEnd(t)
	if err := server.Wait(); err == nil {
		t.Error("the server ended by itself; it should have been killed")
	}
}

// watched is a process that need not be a child of this one.
type watched int

// watchChild starts a program that prints the number of a process it starts, and
// watches that.
func watchChild(t *testing.T, cmd *exec.Cmd) watched {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatalf("watch process %d: %v", pid, err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return watched(fd)
}

func (w watched) mustEnd(t *testing.T) {
	t.Helper()
	start := time.Now()
	// The runtime's own signals interrupt a call that waits.
	n, err := 0, error(unix.EINTR)
	for errors.Is(err, unix.EINTR) {
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(w), Events: unix.POLLIN}}, 10_000)
	}
	if err != nil || n != 1 {
		t.Errorf("the process still runs after %v (%v)", time.Since(start), err)
	}
	t.Logf("ended after %v", time.Since(start))
}

func TestTheEndOfAContextKillsTheChild(t *testing.T) {
	t.Parallel()
	s := openSandbox(t)
	find(t, "ffmpeg")
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd, err := startEndless(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	err = cmd.Wait()
	if got := signalOf(err); got != syscall.SIGKILL {
		t.Errorf("Wait = %v; want the child killed", err)
	}
}

// TestTheWholeGroupIsKilled switches the sandbox off, as nothing inside can
// start a second process.
func TestTheWholeGroupIsKilled(t *testing.T) {
	t.Parallel()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := (&Sandbox{}).Command(ctx, Policy{}, "/bin/sh", "-c", "sleep 1000 & echo $!; wait").Cmd
	grandchild := watchChild(t, cmd)
	cancel()
	if err := cmd.Wait(); signalOf(err) != syscall.SIGKILL {
		t.Errorf("Wait = %v; want the child killed", err)
	}
	grandchild.mustEnd(t)
}

// signalOf returns the signal that ended a child.
func signalOf(err error) syscall.Signal {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return 0
	}
	status := exit.Sys().(syscall.WaitStatus)
	if !status.Signaled() {
		return 0
	}
	return status.Signal()
}

// bothWays are a sandbox that is on and one that is off.
func bothWays(t *testing.T) map[string]*Sandbox {
	return map[string]*Sandbox{"on": openSandbox(t), "off": {}}
}

func TestTheEnvironmentIsEmptyButForFive(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
	for name, s := range bothWays(t) {
		stdout, stderr, err := run(s.Command(t.Context(), Policy{}, find(t, "env")))
		if err != nil {
			t.Fatalf("%s: env: %v: %s", name, err, stderr)
		}
		got := strings.Split(strings.TrimSpace(stdout), "\n")
		slices.Sort(got)
		if want := slices.Sorted(slices.Values(launch.Environment)); !slices.Equal(got, want) || len(want) != 5 {
			t.Errorf("%s: the environment is %q; want %q", name, got, want)
		}
	}
}

func TestOpenFilesOfTheServerStayThere(t *testing.T) {
	secret, err := os.CreateTemp(t.TempDir(), "secret")
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	// A library may open files like this; Go itself never does.
	fd, err := unix.Dup(int(secret.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	link := fmt.Sprintf("/proc/self/fd/%d", fd)
	for name, s := range bothWays(t) {
		stdout, _, err := run(s.Command(t.Context(), Policy{}, find(t, "readlink"), link))
		leaked := strings.TrimSpace(stdout) == secret.Name()
		if want := name == "off"; leaked != want {
			t.Errorf("%s: %s is %q (%v); leaked = %v, want %v", name, link, stdout, err, leaked, want)
		}
	}
}

func TestTheHelperIsForTheServerOnly(t *testing.T) {
	t.Parallel()
	s := openSandbox(t)
	tests := []struct {
		name string
		cmd  func() *exec.Cmd
		want string
	}{
		{"started by hand", func() *exec.Cmd { return exec.CommandContext(t.Context(), "/proc/self/exe", "sandbox-exec") }, "by hand"},
		{"an order that is none", func() *exec.Cmd {
			return exec.CommandContext(t.Context(), "/proc/self/exe", "sandbox-exec", "{", "true")
		}, "read the order"},
		{"a server that has died", func() *exec.Cmd {
			cmd := (&Sandbox{}).Command(t.Context(), Policy{}, find(t, "true")).Cmd
			if err := confine(cmd, launch.Order{}); err != nil {
				t.Fatal(err)
			}
			cmd.Args[2] = strings.Replace(cmd.Args[2], fmt.Sprintf(`"Server":%d`, os.Getpid()), `"Server":1`, 1)
			return cmd
		}, "the server is gone"},
		{"an input that is missing", func() *exec.Cmd {
			return s.Command(t.Context(), Policy{Read: []string{"/no/such/file"}}, find(t, "true")).Cmd
		}, "/no/such/file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, stderr, err := runCmd(tt.cmd())
			if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != ExitRefused {
				t.Errorf("ended with %v; want exit code %d", err, ExitRefused)
			}
			if !strings.HasPrefix(stderr, "sandbox: ") || !strings.Contains(stderr, tt.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("stderr is %q; want one line with %q", stderr, tt.want)
			}
		})
	}
}
