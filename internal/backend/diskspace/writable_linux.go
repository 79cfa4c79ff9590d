package diskspace

import (
	"errors"

	"golang.org/x/sys/unix"
)

// tryFile makes a file without a name, which is gone when it is closed.
func tryFile(dir string) error {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EINVAL) { // such as NFS
		return unix.Access(dir, unix.W_OK)
	}
	if err != nil {
		return err
	}
	return unix.Close(fd)
}
