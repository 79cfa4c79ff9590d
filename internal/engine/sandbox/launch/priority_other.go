//go:build unix && !linux

package launch

import "syscall"

// StandBack lowers the priority of a process by p.Nice.
func (p Policy) StandBack(pid int) {
	if p.Nice > 0 {
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, pid, p.Nice)
	}
}
