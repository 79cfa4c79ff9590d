package pgtest

import (
	"os"
	"path/filepath"
	"time"

	"github.com/spool-video/spool/internal/backend/diskspace"
)

const (
	// shm is a file system in memory. Every database is 300 files, and making and
	// removing them is most of what a test of the store costs on a disk.
	shm = "/dev/shm"
	// enough is more than the databases of one test binary take.
	enough = 3 << 30
)

// place returns where the data of servers go: into memory if there is enough of it,
// otherwise where temporary files go.
func place() string {
	if free, err := diskspace.Free(shm); err != nil || free < enough {
		return ""
	}
	// A test that was killed leaves its server's data behind.
	old, _ := filepath.Glob(filepath.Join(shm, pattern+"*"))
	for _, dir := range old {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			_ = os.RemoveAll(dir) // it may be another user's
		}
	}
	return shm
}
