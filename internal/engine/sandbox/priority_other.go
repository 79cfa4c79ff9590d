//go:build unix && !linux

package sandbox

import "syscall"

// standBack lowers the priority of a process by p.Nice.
func (p Policy) standBack(pid int) {
	if p.Nice > 0 {
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, pid, p.Nice)
	}
}
