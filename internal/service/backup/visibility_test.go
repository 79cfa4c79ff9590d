package backup_test

import (
	"testing"

	"github.com/spool-video/spool/internal/service/backup"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// A video whose files move after the database was read has them where its row in the backup says.
func TestIsPublicChangesWhileABackupRuns(t *testing.T) {
	t.Parallel()
	l, path, to := newLibrary(t), file(t), onDisk(t)
	before := l.kept()
	src := sourceOf(l.Rig)
	src.Blobs = &meddler{Store: l.Blobs, at: objects.Public.Prefix(video.Folder(l.ready)), f: func() {
		must(t, l.Visibility.Set(t.Context(), l.By, l.ready, false))
	}}
	summary, err := backup.ToFile(t.Context(), src, path, backup.Options{})
	must(t, err)
	_, _, err = backup.Restore(t.Context(), path, "", to.target(), to.dir, nil)
	must(t, err)
	got := contents(t, to.blobs)
	for key, sum := range before {
		if got[key] != sum {
			t.Errorf("the copy has not %s", key)
		}
	}
	if v, err := to.source().Store.Video(t.Context(), l.ready); err != nil || !v.IsPublic || summary.Removed != nil {
		t.Errorf("the copy is public: %t, %v; removed %v", v.IsPublic, err, summary.Removed)
	}
}
