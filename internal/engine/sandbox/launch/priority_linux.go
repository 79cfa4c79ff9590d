package launch

import (
	"golang.org/x/sys/unix"
)

const (
	mostNice = 19
	// ioprio_set(2): the best-effort class, and its last level.
	ioWhoProcess = 1
	ioLast       = 2<<13 | 7
)

// LowerPriority lowers the priority of a process, or of the calling thread if pid is
// 0, by p.Nice: what a program may use of the processor and the disk while others
// want it, too. As a batch it does not interrupt others when it wakes up. None of
// this is needed for anything but speed, so what the system refuses is left out.
func (p Policy) LowerPriority(pid int) {
	if p.Nice <= 0 {
		return
	}
	nice := p.Nice
	if now, err := unix.Getpriority(unix.PRIO_PROCESS, pid); err == nil {
		nice += 20 - now // the kernel tells it from 1 to 40
	}
	nice = min(nice, mostNice)
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_BATCH, Nice: int32(nice)}
	if err := unix.SchedSetAttr(pid, &attr, 0); err != nil {
		_ = unix.Setpriority(unix.PRIO_PROCESS, pid, nice)
	}
	_, _, _ = unix.Syscall(unix.SYS_IOPRIO_SET, ioWhoProcess, uintptr(pid), ioLast)
}
