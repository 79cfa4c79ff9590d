//go:build amd64 || arm64

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/spool-video/spool/test/child"
)

// takeovers are programs that a file has taken over. This program is started in
// the place of ffmpeg under their names, because a program inside has no
// environment of its own. The first argument is its folder.
var takeovers = map[string]func(args []string){
	"threads": func(args []string) {
		n, _ := strconv.Atoi(args[1])
		for range n {
			go func() {
				runtime.LockOSThread()
				select {}
			}()
		}
	},
	"files": func(args []string) {
		for n := range 3000 {
			_ = os.WriteFile(filepath.Join(args[0], fmt.Sprint(n)), nil, 0o600)
		}
	},
	"space": func(args []string) { takeSpace(args[0]) },
	"holes": func(args []string) { // fills them later
		f, err := os.Create(filepath.Join(args[0], "holes"))
		if err == nil {
			_ = f.Truncate(1 << 30)
		}
		os.Exit(0)
	},
	"quick": func(args []string) { // has ended before anybody looks
		takeSpace(args[0])
		os.Exit(0)
	},
}

func takeSpace(dir string) {
	for n := range 8 {
		_ = os.WriteFile(filepath.Join(dir, fmt.Sprint(n)), make([]byte, 2<<20), 0o600)
	}
}

func init() {
	// TestMain does not know the names.
	if take, ok := takeovers[strings.TrimPrefix(filepath.Base(os.Args[0]), "takeover-")]; ok {
		take(os.Args[1:])
		time.Sleep(time.Hour)
		os.Exit(0)
	}
}

// takeover returns the path of this program under the name of a takeover.
func takeover(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "takeover-"+name)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Link(self, path); err == nil {
		return path
	}
	b, err := os.ReadFile(self) // on another disk
	if err != nil {
		t.Fatal(err)
	}
	child.WriteProgram(t, path, b)
	return path
}

// TestATakenOverProgramIsKilled lets programs take several times what they may,
// and then wait for ever.
func TestATakenOverProgramIsKilled(t *testing.T) {
	t.Parallel()
	openSandbox(t)
	tests := []struct {
		name, does, arg string
		limit           Policy
		want            error
	}{
		{"too many threads", "threads", "1000", Policy{Threads: 100}, ErrThreads},
		{"too many files", "files", "", Policy{Files: 100}, ErrFolder},
		{"too many bytes in several files", "space", "", Policy{Space: 5 << 20, FileSize: 3 << 20}, ErrFolder},
		{"too many bytes at its end", "quick", "", Policy{Space: 5 << 20}, ErrFolder},
		{"too many bytes of holes", "holes", "", Policy{Space: 5 << 20}, ErrFolder},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, j := openSandbox(t), newJob(t)
			tt.limit.WriteDir = j.out
			_, stderr, err := run(s.Command(t.Context(), tt.limit, takeover(t, tt.does), j.out, tt.arg))
			if !errors.Is(err, tt.want) {
				t.Errorf("ends with %v; want %v: %.300s", err, tt.want, stderr)
			}
		})
	}
}

// TestThreadsAreCountedOneByOne wants a program never to have many more than it
// may: the server could die before it looks.
func TestThreadsAreCountedOneByOne(t *testing.T) {
	t.Parallel()
	s, j := openSandbox(t), newJob(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const limit = 60
	child := s.Command(t.Context(), Policy{WriteDir: j.out, Threads: limit}, takeover(t, "threads"), j.out, "2000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	most := 0
	for {
		n, err := countThreads(child.Cmd.Process.Pid)
		if most = max(most, n); err != nil || n < 0 || child.ctx.Err() != nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err := child.Wait(); !errors.Is(err, ErrThreads) {
		t.Errorf("Wait = %v; want ErrThreads", err)
	}
	if !child.threads.counts() {
		t.Skip("somebody else is asked for system calls here")
	}
	if most > 2*limit {
		t.Errorf("it had %d threads at once; want about %d", most, limit)
	}
}

// TestSomebodyElseIsAsked runs where a container manager answers for system
// calls: there can be one only.
func TestSomebodyElseIsAsked(t *testing.T) {
	t.Parallel()
	openSandbox(t)
	find(t, "ffmpeg")
	cmd := inRole(t.Context(), "intercepted")
	cmd.Dir = t.TempDir()
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "threads=watched") {
		t.Errorf("the self-test says %s: %v; want the threads watched", out, err)
	}
}

// testIntercepted prints what the self-test reports in a process whose system
// calls are intercepted.
func testIntercepted() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	const listen = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH
	if err := filterCall(unix.SYS_ACCT, unix.SECCOMP_RET_USER_NOTIF, listen); err != nil {
		return err
	}
	s, err := Open(On, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		return err
	}
	if err := s.SelfTest(context.Background(), ffmpeg, "."); err != nil {
		return err
	}
	fmt.Println(s.Report(), s.Report().Advice())
	return nil
}

// filterCall has the kernel do something else for one system call of this process.
func filterCall(call, action uint32, flags uintptr) error {
	code := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: action},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return errno
	}
	return nil
}

// TestAThreadShare has two programs that are each within their own limit, and
// together beyond that of the container.
func TestAThreadShare(t *testing.T) {
	t.Parallel()
	a, b := new(threadGuard), new(threadGuard)
	share := newThreadShare(100) // 25 of them for the server
	for _, tt := range []struct {
		who  *threadGuard
		n    int
		want error
	}{{a, 50, nil}, {b, 25, nil}, {b, 26, errShare}, {a, 51, errShare}, {a, 30, nil}, {b, 45, nil}, {b, 46, errShare}} {
		if err := share.take(tt.who, tt.n); !errors.Is(err, tt.want) {
			t.Errorf("%d more: %v; want %v", tt.n, err, tt.want)
		}
	}
	share.leave(a)
	if err := share.take(b, 75); err != nil {
		t.Errorf("alone: %v", err)
	}
	if err := newThreadShare(0).take(a, 1<<20); err != nil {
		t.Errorf("without a limit: %v", err)
	}
}

func TestTheLimitOfProcessesIsFound(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, group string
		files       map[string]string
		want        int
	}{
		{"a container that sees itself as the root", "0::/\n", map[string]string{"pids.max": "512\n"}, 512},
		{"a service in a slice", "0::/system.slice/spool.service\n",
			map[string]string{"system.slice/pids.max": "4000\n", "system.slice/spool.service/pids.max": "max\n"}, 4000},
		{"the smallest of several", "0::/a/b\n", map[string]string{"a/pids.max": "900\n", "a/b/pids.max": "700\n"}, 700},
		{"the first version", "8:pids:/docker/x\n3:cpu:/\n", map[string]string{"pids/docker/x/pids.max": "100\n"}, 100},
		{"a group that cannot be seen", "0::/docker/x\n", nil, 0},
		{"no groups", "", nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			proc, sys := t.TempDir(), t.TempDir()
			write := func(path, text string) {
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			write(filepath.Join(proc, "self/cgroup"), tt.group)
			for name, text := range tt.files {
				write(filepath.Join(sys, "fs/cgroup", name), text)
			}
			got := maxProcesses(proc, sys)
			if own := maxProcesses(t.TempDir(), t.TempDir()); own != 0 && (tt.want == 0 || own < tt.want) {
				t.Skipf("the limit of this user is %d", own)
			}
			if got != tt.want {
				t.Errorf("maxProcesses = %d; want %d", got, tt.want)
			}
		})
	}
}
