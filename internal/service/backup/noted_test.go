package backup_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/spool-video/spool/internal/service/backup"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/system"
	"github.com/spool-video/spool/internal/video"
)

func TestABackupThatFailedIsNotNoted(t *testing.T) {
	t.Parallel()
	l, path := newLibrary(t), file(t)
	src := sourceOf(l.Rig)
	ctx, cancel := context.WithCancel(t.Context())
	src.Blobs = &meddler{Store: l.Blobs, at: objects.Public.Prefix(video.Folder(l.ready)), f: cancel} // in the middle
	if _, err := backup.ToFile(ctx, src, path, backup.Options{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("ToFile = %v; want that it was interrupted", err)
	}
	if got, err := system.NewestBackup(t.Context(), l.Store); err != nil || !got.IsZero() {
		t.Errorf("the newest backup is of %s, %v; want none", got, err)
	}
}

// A backup is complete also if the database does not take the note of it, and replaces older ones.
func TestABackupThatCouldNotBeNoted(t *testing.T) {
	t.Parallel()
	l, dir := newLibrary(t), filepath.Join(t.TempDir(), "backups")
	_, first, err := backup.ToFolder(t.Context(), sourceOf(l.Rig), dir, 1, backup.Options{})
	must(t, err)
	for _, change := range []string{"INSERT", "UPDATE"} {
		_, err = l.Store.Writer().ExecContext(t.Context(), `CREATE TRIGGER refuse_`+change+` BEFORE `+change+` ON periodic_job BEGIN SELECT RAISE(ABORT, 'no notes'); END`)
		must(t, err)
	}
	nextSecond(first)
	summary, second, err := backup.ToFolder(t.Context(), sourceOf(l.Rig), dir, 1, backup.Options{})
	if _, is := errors.AsType[*backup.NotNotedError](err); !is || summary == nil {
		t.Fatalf("ToFolder = %v, %v; want a summary, and that it was not noted", summary, err)
	}
	list, err := backup.List(t.Context(), dir)
	if err != nil || len(list) != 1 || list[0].Name != second {
		t.Errorf("the folder has %+v, %v; want %s alone", list, err, second)
	}
	path := file(t)
	if summary, err := backup.ToFile(t.Context(), sourceOf(l.Rig), path, backup.Options{}); err == nil || summary == nil {
		t.Errorf("ToFile = %v, %v; want a summary and an error", summary, err)
	}
	if _, _, err := backup.Verify(t.Context(), path, "", nil); err != nil {
		t.Errorf("Verify = %v", err)
	}
}
