package diskspace

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// shortages are errors that say nothing about whether a disk can be written: of a full one, files can still be
// removed.
var shortages = []error{unix.ENOSPC, unix.EDQUOT, unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EINTR}

// CheckWritable returns an error if no file can be made in a folder: its disk has become read-only, as Linux makes
// one after errors, or is gone. A full disk is no error. It leaves nothing behind and costs some microseconds.
func CheckWritable(dir string) error {
	err := tryFile(dir)
	if err == nil || slices.ContainsFunc(shortages, func(s error) bool { return errors.Is(err, s) }) {
		return nil
	}
	return fmt.Errorf("write in %s: %w", dir, err)
}
