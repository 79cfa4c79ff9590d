package janitor_test

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/queue/local"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/janitor"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/video"
)

const (
	// abandonedAfter is how long the uploads of a cleanerRig may be late.
	abandonedAfter = time.Hour
	// keepFailed is how long its videos whose upload failed can be read after that.
	keepFailed = 24 * time.Hour
)

// cleanerRig is a Cleaner on SQLite and a disk, whose clock stands still.
type cleanerRig struct {
	*janitor.Cleaner
	*testing.T
	store   *store.Store
	blobs   *disk.Store
	uploads *uploads.Service
	now     time.Time

	stuck    video.ID // whose objects cannot be listed
	finished []string // the codes of videos that failed
	onFinish func()
	onPoint  func(failpoint.Point)
}

func newCleanerRig(t *testing.T) *cleanerRig {
	t.Helper()
	r := &cleanerRig{T: t, now: time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)}
	var err error
	if r.store, err = store.OpenSQLite(t.Context(), servicetest.Database.Fresh(t)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.store.Close() })
	if r.blobs, err = disk.Open(filepath.Join(t.TempDir(), "objects"), disk.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.blobs.Close() })
	blobs := stuckStore{r.blobs, r}
	tasks := local.New(r.store.Writer(), local.Options{})
	clock, log := func() time.Time { return r.now }, slog.New(slog.DiscardHandler)
	r.uploads = uploads.New(uploads.Config{MaxBytes: 1 << 20}, uploads.Parts{
		Store: r.store, Blobs: blobs, Passes: pipeline.NewPasses(pipeline.Config{}, r.store, tasks, blobs, clock, log, r.finish),
		Admit: func([]byte, bool) error { return nil }, Now: clock, Log: log, Uploaded: func(int64) {}, Finished: r.finish, Hook: r.reach,
	})
	r.Cleaner = janitor.NewCleaner(janitor.Config{AbandonedAfter: abandonedAfter}, r.store, tasks, blobs, r.uploads,
		janitor.NewMarker(r.store, blobs), clock, r.finish, nil)
	return r
}

func (r *cleanerRig) reach(p failpoint.Point) {
	if r.onPoint != nil {
		r.onPoint(p)
	}
}

func (r *cleanerRig) finish(_ video.Status, f *video.Failure) {
	r.finished = append(r.finished, string(f.Code))
	if r.onFinish != nil {
		r.onFinish()
	}
}

// stuckStore fails to list the objects of one video.
type stuckStore struct {
	blob.Store
	rig *cleanerRig
}

func (s stuckStore) List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error] {
	if s.rig.stuck != "" && strings.Contains(prefix, string(s.rig.stuck)) {
		return func(yield func(blob.Info, error) bool) { yield(blob.Info{}, errors.New("meant by the test")) }
	}
	return s.Store.List(ctx, prefix)
}

// tx runs f in a transaction.
func (r *cleanerRig) tx(f func(tx *store.Tx) error) {
	r.Helper()
	if err := r.store.InTx(r.Context(), f); err != nil {
		r.Fatal(err)
	}
}

// waiting makes a video that waits for its upload, with the given objects.
func (r *cleanerRig) waiting(expires time.Time, keys ...func(video.ID) string) video.ID {
	r.Helper()
	v := video.Video{
		ID: video.ID(uuid.Must(uuid.NewV7()).String()), Tenant: video.DefaultTenant, Filename: "film.mp4", ContentType: "video/mp4",
		Status: video.PendingUpload, Thumbnails: []float64{}, CreatedAt: r.now, UploadExpiresAt: expires,
		Resolutions: []video.Resolution{{ID: video.ResolutionID(uuid.NewString()), Name: "144p", Status: video.PendingUpload}},
	}
	r.tx(func(tx *store.Tx) error { return tx.InsertVideo(r.Context(), v) })
	for _, key := range keys {
		if _, err := r.blobs.Put(r.Context(), key(v.ID), strings.NewReader("x")); err != nil {
			r.Fatal(err)
		}
	}
	return v.ID
}

func (r *cleanerRig) objects() (keys []string) {
	r.Helper()
	for info, err := range r.blobs.List(r.Context(), "") {
		if err != nil {
			r.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	return keys
}

// One video that cannot be removed must not keep the others.
func TestOneStuckDeletionDoesNotKeepTheOthers(t *testing.T) {
	t.Parallel()
	r := newCleanerRig(t)
	var ids []video.ID
	for range 4 {
		id := r.waiting(r.now, objects.Upload)
		r.tx(func(tx *store.Tx) error { return tx.MarkDeleted(t.Context(), id, r.now) })
		ids = append(ids, id)
	}
	r.stuck = ids[0]
	if err := r.FinishDeletions(t.Context()); err == nil || !strings.Contains(err.Error(), "meant by the test") {
		t.Errorf("FinishDeletions = %v; want the error of the one that is stuck", err)
	}
	left, err := r.store.MarkedDeleted(t.Context())
	if err != nil || len(left) != 1 || left[0] != r.stuck {
		t.Errorf("%v are left, %v; want only %s", left, err, r.stuck)
	}
	if keys := r.objects(); len(keys) != 1 {
		t.Errorf("objects %v are left; want that of one video", keys)
	}
	r.stuck = ""
	if err := r.FinishDeletions(t.Context()); err != nil || len(r.objects()) > 0 {
		t.Errorf("the next pass: %v, with %v left", err, r.objects())
	}
}

// A storage that fails every time is not asked for each of a thousand videos.
func TestDeletionsEndWhenTheStorageIsAway(t *testing.T) {
	t.Parallel()
	r := newCleanerRig(t)
	for range 30 {
		id := r.waiting(r.now)
		r.tx(func(tx *store.Tx) error { return tx.MarkDeleted(t.Context(), id, r.now) })
	}
	r.stuck = "/" // all of them
	err := r.FinishDeletions(t.Context())
	if err == nil {
		t.Fatal("the deletions succeeded")
	}
	if n := strings.Count(err.Error(), "meant by the test"); n > 10 {
		t.Errorf("%d failures in one error: %v", n, err)
	}
}
