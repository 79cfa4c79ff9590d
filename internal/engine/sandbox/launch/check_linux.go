package launch

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// check looks from inside whether each layer is on.
func (p Policy) check() error {
	if _, err := os.ReadDir("/"); !errors.Is(err, unix.EACCES) {
		return fmt.Errorf("the root folder can be listed, which Landlock should refuse (%v)", err)
	}
	if fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err == nil {
		return errors.Join(errors.New("the filter of system calls does not refuse a socket"), unix.Close(fd))
	} else if !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("the filter of system calls does not refuse a socket (%w)", err)
	}
	const filtered = 2 // of PR_GET_SECCOMP
	if mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0); err != nil || mode != filtered {
		return fmt.Errorf("the kernel has no filter of system calls on: mode %d (%v)", mode, err)
	}
	if on, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || on != 1 {
		return fmt.Errorf("new privileges can be gained: %d (%v)", on, err)
	}
	return p.checkLimits()
}

// checkLimits compares the kernel's limits with the policy.
func (p Policy) checkLimits() error {
	for _, l := range []struct {
		name     string
		resource int
		most     int64
	}{
		{"core dumps", unix.RLIMIT_CORE, 0}, {"the stack", unix.RLIMIT_STACK, stackSize}, {"open files", unix.RLIMIT_NOFILE, openFiles},
		{"file size", unix.RLIMIT_FSIZE, p.FileSize}, {"memory", unix.RLIMIT_DATA, p.Memory},
	} {
		var now unix.Rlimit
		if err := unix.Getrlimit(l.resource, &now); err != nil {
			return fmt.Errorf("read the limit of %s: %w", l.name, err)
		}
		if now.Max > uint64(l.most) {
			return fmt.Errorf("the limit of %s is %d instead of %d", l.name, now.Max, l.most)
		}
	}
	return nil
}
