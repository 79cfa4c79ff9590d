// Package diskspace measures the free space of a disk, and holds some of it back.
//
// A service that cannot record a deletion would never recover from a full disk, so the
// setting min_free reserves space for the database: requests and tasks that would use it
// are refused or wait. Other programs may fill the disk all the same. For that case a file
// (Emergency) takes up some space, and is given up for a start or a deletion.
package diskspace

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Size returns how many bytes the file system of a folder has in all.
func Size(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, fmt.Errorf("measure the disk of %s: %w", dir, err)
	}
	return uint64(s.Blocks) * uint64(s.Bsize), nil
}

// Free returns how many bytes a user without privileges can still write below a folder.
func Free(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, fmt.Errorf("measure free space of %s: %w", dir, err)
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil
}
