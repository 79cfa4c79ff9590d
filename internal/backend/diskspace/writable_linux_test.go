package diskspace_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/spool-video/spool/internal/backend/diskspace"
	"github.com/spool-video/spool/test/rig"
)

func TestCheckWritable(t *testing.T) {
	t.Parallel()
	dir := rig.Disk(t, 4)
	want := func(when string, target error) {
		t.Helper()
		if err := diskspace.CheckWritable(dir); !errors.Is(err, target) {
			t.Errorf("%s: %v; want %v", when, err, target)
		}
	}
	want("an empty disk", nil)
	free := rig.Fill(t, dir)
	want("a full disk", nil)
	free()
	restore := rig.MakeReadOnly(t, dir)
	want("a disk that is read-only", syscall.EROFS)
	restore()
	want("a disk that was read-only", nil)
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	dir = filepath.Join(dir, "missing")
	want("no folder", fs.ErrNotExist)
}
