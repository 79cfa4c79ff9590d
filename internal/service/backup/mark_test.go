package backup_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spool-video/spool/internal/service/backup"
)

// After a run of root that was killed, the service's user cannot write to the mark, but can remove it.
func TestAMarkOfAnotherUserStopsNoBackup(t *testing.T) {
	t.Parallel()
	l, dir := newLibrary(t), filepath.Join(t.TempDir(), "backups")
	_, first, err := backup.ToFolder(t.Context(), sourceOf(l.Rig), dir, 0, backup.Options{})
	must(t, err)
	mark := filepath.Join(dir, "unsynced")
	must(t, os.Mkdir(mark, 0o700)) // which nobody can write to, also not who runs this test as root
	damageObjects(t, dir)
	nextSecond(first)
	_, second, err := backup.ToFolder(t.Context(), sourceOf(l.Rig), dir, 0, backup.Options{})
	must(t, err)
	if _, _, err := backup.Verify(t.Context(), dir, second, nil); err != nil {
		t.Errorf("the mark did not count: %v", err)
	}
	if _, err := os.Stat(mark); !os.IsNotExist(err) {
		t.Errorf("the mark is still there: %v", err)
	}
}
