package blob

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// OpenRegular opens a local file that a store is to take over. Only regular files are
// accepted: a symbolic link would give readers of the object some other file. Opening
// a named pipe does not block.
func OpenRegular(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, fi, nil
}
