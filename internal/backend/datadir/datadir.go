// Package datadir knows the folder in which a service keeps its data: what lies where, that one process at a time uses
// it, and why it cannot be used.
package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// The data directory holds these, the lock file and diskspace.EmergencyFile.
const (
	Database = "spool.db"
	Objects  = "objects"
	Scratch  = "scratch"
	Incoming = "incoming" // parts of uploads on their way to a bucket
	Pictures = "pictures" // pictures that were made for a request, and those that are being made
)

// Existing returns dir, or the folder above it that exists.
func Existing(dir string) string {
	if absolute, err := filepath.Abs(dir); err == nil {
		dir = absolute
	}
	for {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}
