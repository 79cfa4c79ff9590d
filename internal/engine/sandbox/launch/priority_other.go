//go:build unix && !linux

package launch

import "syscall"

// LowerPriority lowers the priority of a process by p.Nice.
func (p Policy) LowerPriority(pid int) {
	if p.Nice > 0 {
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, pid, p.Nice)
	}
}
