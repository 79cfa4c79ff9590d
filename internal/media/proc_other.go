//go:build unix && !linux

package media

import "syscall"

// ownGroup puts a child into a process group of its own, so that it can be
// killed with whatever it started. Only Linux can tie its life to ours, too.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
