package datadir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// Forbidden explains why a file could not be opened, if it is not this user's. SQLite only says that it could
// not. In every other case it returns err.
func Forbidden(path string, err error) error {
	for _, file := range []string{path, path + "-wal", path + "-shm", filepath.Dir(path)} {
		const readWrite = 6
		access := syscall.Access(file, readWrite)
		if errors.Is(access, syscall.EROFS) {
			return readOnly(file, cmp.Or(err, access))
		}
		if errors.Is(access, fs.ErrPermission) {
			owner, me := ownerOf(file), userName(os.Geteuid())
			return fmt.Errorf("%s belongs to %s, and %s may not read and write it: run spool as %s, or give the folder to %s: %w",
				file, owner, me, owner, me, cmp.Or(err, access))
		}
	}
	return err
}

// readOnly explains an error of a file system that is mounted read-only, as by the kernel after an error of the disk.
func readOnly(path string, err error) error {
	return fmt.Errorf("%s is on a file system that can only be read: mount it for writing (the log of the kernel says why it is not), or choose another --data-dir: %w", path, err)
}

// ownerOf returns whose a file is. One that cannot be seen belongs, most likely, to whom the folder belongs that
// hides it.
func ownerOf(path string) string {
	for {
		info, err := os.Stat(path)
		if err == nil {
			if stat, ok := info.Sys().(*syscall.Stat_t); ok {
				return userName(int(stat.Uid))
			}
		}
		above := filepath.Dir(path)
		if above == path {
			return "another user"
		}
		path = above
	}
}

func userName(id int) string {
	if u, err := user.LookupId(strconv.Itoa(id)); err == nil {
		return u.Username
	}
	return "user " + strconv.Itoa(id)
}
