package disk

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openBeneath opens a file for reading in one system call. os.Root walks through the folders of the
// name one by one, because not every system can do what it promises: a name, with whatever links are
// in it, that leads out of the root is refused. Here the kernel keeps that promise itself. handled is
// false where it cannot: before Linux 5.6, where a filter forbids the call, and in the rare race with
// a rename for which it asks to be called again.
func openBeneath(root *os.File, name string) (f *os.File, handled bool, err error) {
	fd, err := unix.Openat2(int(root.Fd()), name, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH,
	})
	switch {
	case err == nil:
		return os.NewFile(uintptr(fd), name), true, nil
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM), errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return nil, false, nil
	}
	return nil, true, &os.PathError{Op: "openat2", Path: name, Err: err}
}

// versionIn returns the version of an open file.
func versionIn(fi fs.FileInfo) version {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return version{}
	}
	return version{uint64(st.Dev), st.Ino, st.Mtim.Nano(), st.Size}
}

// versionOf returns the version of the file that a name stands for. It may find a file outside of root, but no
// such file was ever opened, so its version matches no idle file.
func versionOf(root *os.File, name string) (v version, ok bool) {
	var st unix.Stat_t
	if err := unix.Fstatat(int(root.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return version{}, false
	}
	return version{uint64(st.Dev), st.Ino, st.Mtim.Nano(), st.Size}, true
}
