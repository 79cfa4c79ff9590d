// Package diskspace measures the free space of a disk.
package diskspace

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Free returns how many bytes a user without privileges can still write below a folder.
func Free(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, fmt.Errorf("measure free space of %s: %w", dir, err)
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil
}
