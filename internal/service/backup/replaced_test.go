package backup_test

import (
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/backup"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/replace"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// A backup that saw a video before its file was replaced has all of the old file, and the new one on its way.
func TestAFileIsReplacedWhileABackupRuns(t *testing.T) {
	t.Parallel()
	l, path, to := newLibrary(t), file(t), onDisk(t)
	ctx := t.Context()
	up, err := l.Catalog.Replace(ctx, l.By, l.ready, video.Draft{Filename: "new.mp4", Resolutions: []video.Name{"720p"}}, servicetest.Base)
	must(t, err)
	l.Put(up, servicetest.LikeVideo)
	c, err := l.Uploads.Complete(ctx, l.By, l.ready)
	must(t, err)
	l.Transcode(c.ID, servicetest.Plan("720p"))
	l.Publish(c.ID, 0)
	before := l.kept()
	src := sourceOf(l.Rig)
	src.Blobs = &meddler{Store: l.Blobs, at: objects.Public.Prefix(video.Folder(l.ready)), f: func() {
		must(t, l.Replace.Replace(ctx, c.ID))
		l.Advance(replace.Grace + time.Second)
		must(t, l.RemoveReplaced(ctx))
		_, err := l.Sweep(ctx)
		must(t, err)
	}}
	summary, err := backup.ToFile(ctx, src, path, backup.Options{})
	must(t, err)
	_, _, err = backup.Restore(ctx, path, "", to.target(), to.dir, nil)
	must(t, err)
	got := contents(t, to.blobs)
	for key, sum := range before {
		if got[key] != sum {
			t.Errorf("the copy has not %s", key)
		}
	}
	old, err := to.source().Store.Video(ctx, l.ready)
	must(t, err)
	hidden, found, err := to.source().Store.ReplacementOf(ctx, l.ready)
	if err != nil || !found || hidden.ID != c.ID || old.Filename == "new.mp4" || summary.Removed != nil {
		t.Errorf("the copy has %+v, on its way is %+v (%v); removed %v", old, hidden, err, summary.Removed)
	}
}
