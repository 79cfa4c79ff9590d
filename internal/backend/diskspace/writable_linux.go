package diskspace

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"
)

// notSupported lists the errors of file systems that know no files without a name, such as NFS and FUSE.
var notSupported = []error{unix.EOPNOTSUPP, unix.EISDIR, unix.EINVAL, unix.ENOSYS, unix.EPERM}

// tryFile makes a file without a name, which is gone when it is closed.
func tryFile(dir string) error {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	switch {
	case err == nil:
		return unix.Close(fd)
	case slices.ContainsFunc(notSupported, func(e error) bool { return errors.Is(err, e) }):
		return unix.Access(dir, unix.W_OK)
	}
	return err
}
