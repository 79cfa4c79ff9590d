package media

import "syscall"

// ownGroup puts a child into a process group of its own, so that it can be
// killed with whatever it started, and lets the kernel kill it when this
// process dies, however it dies.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
