package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxProcesses returns how many processes and threads this process may have with
// its children, or 0 if nothing limits them. proc and sys are the kernel's
// folders.
func maxProcesses(proc, sys string) int {
	var limits []int
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &own); err == nil && os.Getuid() != 0 && own.Cur < 1<<31 {
		limits = append(limits, int(own.Cur))
	}
	groups, _ := os.ReadFile(filepath.Join(proc, "self/cgroup"))
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 || parts[1] != "" && parts[1] != "pids" {
			continue
		}
		// A container may see its own group as the root, or not at all.
		for path := filepath.Join("/", parts[2]); ; path = filepath.Dir(path) {
			text, err := os.ReadFile(filepath.Join(sys, "fs/cgroup", parts[1], path, "pids.max"))
			if n, atoiErr := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && atoiErr == nil {
				limits = append(limits, n)
			}
			if path == "/" {
				break
			}
		}
	}
	least := 0
	for _, n := range limits {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}
