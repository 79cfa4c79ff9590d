package datadir

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Locked keeps a second server out of a data directory. The kernel releases it when
// the process ends, even by a crash, so it is never stale.
type Locked struct{ file *os.File }

// Lock creates dir when needed and locks it for this process.
func Lock(dir string) (*Locked, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, Unwritable(dir, fmt.Errorf("create the data directory: %w", err))
	}
	f, err := os.OpenFile(filepath.Join(dir, "spool.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, Unwritable(dir, fmt.Errorf("lock the data directory: %w", err))
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock the data directory: %w", err)
		}
		return nil, fmt.Errorf("another spool (pid %s) is using %s; stop it or choose another --data-dir", holder(f), dir)
	}
	if err := writeHolder(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	return &Locked{f}, nil
}

// Unwritable adds advice to the error of a data directory that cannot be written.
func Unwritable(dir string, err error) error {
	if errors.Is(err, syscall.EROFS) {
		return readOnly(dir, err)
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%s cannot be written; it belongs to %s: give it to the user that runs spool, %s, or choose another --data-dir: %w",
			dir, ownerOf(dir), userName(os.Geteuid()), err)
	}
	return err
}

// Unlock releases the directory. The file stays: if it were removed, two processes
// could each lock a file of that name.
func (l *Locked) Unlock() error { return l.file.Close() }

func writeHolder(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// holder returns the process id in the lock file, or "unknown" if the holder has not
// written it yet.
func holder(f *os.File) string {
	b, err := io.ReadAll(io.LimitReader(f, 32))
	if pid := bytes.TrimSpace(b); err == nil && len(pid) > 0 {
		return string(pid)
	}
	return "unknown"
}
