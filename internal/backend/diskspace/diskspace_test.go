package diskspace_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/spool-video/spool/internal/backend/diskspace"
)

func TestFree(t *testing.T) {
	t.Parallel()
	if free, err := diskspace.Free(t.TempDir()); err != nil || free < 1<<20 {
		t.Errorf("Free = %d, %v; want at least a megabyte", free, err)
	}
	if free, err := diskspace.Free(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Free of no folder = %d, %v; want an error", free, err)
	}
}
