//go:build amd64 || arm64

package sandbox

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestAProgramStandsBack looks at the priority of a program that runs, with and without the sandbox. It
// is that of the server and so much less.
func TestAProgramStandsBack(t *testing.T) {
	t.Parallel()
	runtime.LockOSThread() // until Wait
	defer runtime.UnlockOSThread()
	mine, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*Sandbox{"bare": {}, "confined": openSandbox(t)} {
		for _, nice := range []int{0, 7} {
			p := newJob(t).policy()
			p.Nice, p.Read = nice, nil
			ctx, cancel := context.WithCancel(t.Context())
			c := s.Command(ctx, p, find(t, "sleep"), "1000")
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf("nice %d policy %d", min(20-mine+nice, 19), map[bool]int{true: unix.SCHED_BATCH}[nice > 0])
			got := ""
			for until := time.Now().Add(time.Minute); got != want && time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
				got = priorityOf(c.Cmd.Process.Pid)
			}
			if got != want {
				t.Errorf("%s: a program that stands back by %d has %s; want %s", name, nice, got, want)
			}
			cancel()
			if c.Wait() == nil {
				t.Errorf("%s: the program ended by itself", name)
			}
		}
	}
}

// priorityOf returns the priority of a process that has become the program.
func priorityOf(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return err.Error()
	}
	_, after, found := strings.Cut(string(stat), "(sleep) ")
	fields := strings.Fields(after) // from the third field of the line on
	if !found || len(fields) < 39 {
		return "another program: " + string(stat)
	}
	return "nice " + fields[16] + " policy " + fields[38]
}
