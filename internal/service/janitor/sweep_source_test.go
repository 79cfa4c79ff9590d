package janitor_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

var uploader = auth.Actor{Tenant: video.DefaultTenant, Scopes: auth.Scopes}

// whilePinned completes the upload of a video, and calls f between the copy of the source and the
// transaction that records it.
func (r *cleanerRig) whilePinned(id video.ID, f func()) (video.Video, error) {
	r.onPoint = func(p failpoint.Point) {
		if p == failpoint.SourcePinned {
			r.onPoint = nil
			f()
		}
	}
	return r.uploads.Complete(r.Context(), uploader, id)
}

func (r *cleanerRig) sweep() {
	r.Helper()
	if _, err := r.Sweep(r.Context()); err != nil {
		r.Error(err)
	}
}

func (r *cleanerRig) sources() []string {
	r.Helper()
	return slices.DeleteFunc(r.objects(), func(key string) bool { return !strings.HasPrefix(key, objects.Sources.Root()) })
}

// The upload window may end while the source is copied.
func TestSourceOfARunningCompletionIsNotSwept(t *testing.T) {
	t.Parallel()
	r := newCleanerRig(t)
	id := r.waiting(r.now.Add(-abandonedAfter+time.Minute), objects.Upload)
	v, err := r.whilePinned(id, func() {
		r.now = r.now.Add(30 * time.Minute)
		r.sweep()
	})
	if err != nil || v.Status != video.Processing {
		t.Fatalf("the video is %s, %v; want processing", v.Status, err)
	}
	r.sweep()
	if v, err = r.store.Video(t.Context(), id); err != nil || !slices.Contains(r.sources(), v.Source.Key) {
		t.Errorf("%v are left, %v; want the source %s", r.sources(), err, v.Source.Key)
	}
}

// A completion that took so long that its copy may have been swept must not be recorded.
func TestCompletionThatTookTooLongIsNotRecorded(t *testing.T) {
	t.Parallel()
	r := newCleanerRig(t)
	id := r.waiting(r.now.Add(-abandonedAfter+time.Minute), objects.Upload)
	if _, err := r.whilePinned(id, func() { r.now = r.now.Add(23 * time.Hour) }); video.KindOf(err) != video.Unavailable {
		t.Errorf("Complete = %v; want that it is tried again", err)
	}
	if v, err := r.store.Video(t.Context(), id); err != nil || !v.CompletedAt.IsZero() {
		t.Errorf("the upload was accepted at %s, %v", v.CompletedAt, err)
	}
}

// What a killed completion left is removed when nobody can record it any more.
func TestCopyOfAKilledCompletionIsSwept(t *testing.T) {
	t.Parallel()
	r := newCleanerRig(t)
	id := r.waiting(r.now.Add(time.Minute), objects.Upload)
	func() {
		defer func() { _ = recover() }()
		_, _ = r.whilePinned(id, func() { panic("killed") })
	}()
	r.now = r.now.Add(2 * time.Hour)
	if r.sweep(); len(r.sources()) != 1 {
		t.Errorf("after two hours %v are left; want the copy", r.sources())
	}
	r.now = r.now.Add(24 * time.Hour)
	if r.sweep(); len(r.sources()) != 0 {
		t.Errorf("after a day %v are left", r.sources())
	}
}

// Nothing of a deleted video is kept, however young it is.
func TestDeletionRemovesTheSourceOfARunningCompletion(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(*cleanerRig, video.ID) error{
		"purge": func(r *cleanerRig, id video.ID) error { return r.Purge(t.Context(), id) },
		"sweep": func(r *cleanerRig, _ video.ID) error { _, err := r.Sweep(t.Context()); return err },
	} {
		r := newCleanerRig(t)
		id := r.waiting(r.now.Add(time.Hour), objects.Upload)
		_, err := r.whilePinned(id, func() {
			r.tx(func(tx *store.Tx) error { return tx.MarkDeleted(t.Context(), id, r.now) })
			if err := remove(r, id); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if keys := r.objects(); len(keys) > 0 {
				t.Errorf("%s leaves %v", name, keys)
			}
		})
		if video.KindOf(err) != video.NotFound || len(r.objects()) > 0 {
			t.Errorf("%s: Complete = %v, and %v are left; want nothing", name, err, r.objects())
		}
	}
}
