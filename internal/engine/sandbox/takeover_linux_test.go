//go:build amd64 || arm64

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
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
	"attack": func(args []string) { // the first argument is its target
		runtime.LockOSThread()
		var at target
		if err := json.Unmarshal([]byte(args[0]), &at); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		attackAll(at, os.Stdout)
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

// takeover puts this program into a folder under the name of a takeover, and returns its path.
func takeover(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, "takeover-"+name)
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
			_, stderr, err := run(s.Command(t.Context(), tt.limit, takeover(t, t.TempDir(), tt.does), j.out, tt.arg))
			if !errors.Is(err, tt.want) {
				t.Errorf("ends with %v; want %v: %.300s", err, tt.want, stderr)
			}
		})
	}
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
