package backup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/service/backup"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// After a run of root that was killed, the service's user cannot write to the mark, but can remove it.
func TestAMarkOfAnotherUserStopsNoBackup(t *testing.T) {
	t.Parallel()
	l, dir, first := newBackup(t)
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

// A verification beside a backup finds what that one has passed already: the next one has to compare.
func TestDamageFoundWhileABackupRunsIsNotForgotten(t *testing.T) {
	t.Parallel()
	l, dir := newLibrary(t), filepath.Join(t.TempDir(), "backups")
	src, last := sourceOf(l.Rig), ""
	add := func() {
		t.Helper()
		nextSecond(last)
		var err error
		_, last, err = backup.ToFolder(t.Context(), src, dir, 0, backup.Options{})
		must(t, err)
	}
	add()
	src.Blobs = &meddler{Store: l.Blobs, at: objects.Public.Prefix(video.Folder(l.ready)), f: func() {
		damageObjects(t, dir)
		if _, _, err := backup.Verify(t.Context(), dir, "", nil); err == nil {
			t.Error("the damage was not found")
		}
	}}
	add()
	add()
	if _, _, err := backup.Verify(t.Context(), dir, "", nil); err != nil {
		t.Errorf("the backup after it: %v", err)
	}
	damageObjects(t, dir) // nobody has found this
	add()
	if _, _, err := backup.Verify(t.Context(), dir, "", nil); err == nil {
		t.Error("the mark was never removed: every backup compares everything")
	}
}

// In a folder that can only be read, nobody has the next backup compare. The advice that always helps comes first.
func TestTheAdviceAfterDamage(t *testing.T) {
	t.Parallel()
	l, dir := newLibrary(t), filepath.Join(t.TempDir(), "backups")
	_, _, err := backup.ToFolder(t.Context(), sourceOf(l.Rig), dir, 0, backup.Options{})
	must(t, err)
	damageObjects(t, dir)
	verify := func() string {
		t.Helper()
		if _, _, err := backup.Verify(t.Context(), dir, "", nil); err != nil {
			return err.Error()
		}
		t.Fatal("the damage was not found")
		return ""
	}
	mark := filepath.Join(dir, "damaged")
	must(t, os.Symlink(filepath.Join(dir, "missing", "mark"), mark)) // which nobody can write to, also not root
	if said := verify(); !strings.Contains(said, "another backup of this folder (--snapshot)") || strings.Contains(said, "again") {
		t.Errorf("without a mark: %s", said)
	}
	must(t, os.Remove(mark))
	must(t, os.Mkdir(mark, 0o700)) // another user has left one
	for range 2 {
		if said := verify(); !strings.Contains(said, "another backup of this folder (--snapshot)") || !strings.Contains(said, "stores this one again") {
			t.Errorf("with a mark: %s", said)
		}
		must(t, os.RemoveAll(mark))
	}
}
