package janitor_test

import (
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// An upload may be continued, or its request repeated, after it was listed as abandoned.
func TestUploadExtendedInTheLastMomentIsNotExpired(t *testing.T) {
	t.Parallel()
	r := newCleanerRig(t)
	r.waiting(r.now.Add(-3*abandonedAfter), objects.Upload)
	alive := r.waiting(r.now.Add(-2*abandonedAfter), objects.Upload) // listed together with the first, and handled after it
	r.onFinish = func() {
		if err := r.store.KeepUploadOpen(t.Context(), alive, r.now.Add(time.Hour)); err != nil {
			t.Error(err)
		}
	}
	n, err := r.ExpireUploads(t.Context())
	if err != nil || n != 1 || len(r.finished) != 1 {
		t.Errorf("%d uploads expired, %v told, %v; want one", n, r.finished, err)
	}
	if v, err := r.store.Video(t.Context(), alive); err != nil || v.Status != video.PendingUpload {
		t.Errorf("the upload that was extended is %s (%v), %v; want it to wait", v.Status, v.Failure, err)
	}
	if keys := r.objects(); len(keys) != 1 || keys[0] != objects.Upload(alive) {
		t.Errorf("objects %v are left; want the file of the upload that was extended", keys)
	}
}

// Two processes may list the same videos.
func TestExpiredUploadIsCountedOnce(t *testing.T) {
	t.Parallel()
	r := newCleanerRig(t)
	for range 2 {
		r.waiting(r.now.Add(-2 * abandonedAfter))
	}
	other, once := 0, false
	r.onFinish = func() { // a second process expires what is left
		if !once {
			once = true
			var err error
			if other, err = r.ExpireUploads(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	n, err := r.ExpireUploads(t.Context())
	if err != nil || n+other != 2 || len(r.finished) != 2 {
		t.Errorf("two processes expired %d and %d uploads, and %d were told, %v; want two altogether", n, other, len(r.finished), err)
	}
}

// Creating a video costs a row, even if nothing is ever uploaded. It must not stay for ever.
func TestVideosWithoutAnUploadAreRemovedInTheEnd(t *testing.T) {
	t.Parallel()
	r := newCleanerRig(t)
	expires := r.now
	never, refused := r.waiting(expires, objects.Upload), r.waiting(expires, objects.Upload)
	r.tx(func(tx *store.Tx) error {
		_, err := tx.RefuseUpload(t.Context(), refused, video.Failf(video.NotAVideo, "This is a picture."))
		return err
	})
	waiting := r.waiting(expires.Add(abandonedAfter + keepFailed))
	for _, step := range []struct {
		after  time.Duration // the URLs expired
		status video.Status  // of the one that never got a file; "": gone
	}{
		{abandonedAfter, video.PendingUpload},
		{abandonedAfter + time.Millisecond, video.Fail},
		{abandonedAfter + keepFailed, video.Fail},
		{abandonedAfter + keepFailed + time.Millisecond, ""},
	} {
		r.now = expires.Add(step.after)
		if _, err := r.ExpireUploads(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := r.RemoveFailedUploads(t.Context()); err != nil {
			t.Fatal(err)
		}
		v, err := r.store.Video(t.Context(), never)
		if gone := video.KindOf(err) == video.NotFound; gone != (step.status == "") || v.Status != step.status {
			t.Errorf("%s after its URL expired, a video without an upload is %q, %v; want %q", step.after, v.Status, err, step.status)
		}
	}
	if _, err := r.store.Video(t.Context(), refused); video.KindOf(err) != video.NotFound {
		t.Errorf("a video whose upload was refused is still there: %v", err)
	}
	if v, err := r.store.Video(t.Context(), waiting); err != nil || v.Status != video.PendingUpload {
		t.Errorf("a video that waits for its upload is %s, %v", v.Status, err)
	}
	if keys := r.objects(); len(keys) > 0 {
		t.Errorf("objects %v are left", keys)
	}
}

// There may be thousands of them. One call removes a limited number, and one that is stuck is left
// to FinishDeletions.
func TestFailedUploadsAreRemovedInBatches(t *testing.T) {
	t.Parallel()
	r := newCleanerRig(t)
	const videos = 250
	var last video.ID
	for range videos {
		last = r.waiting(r.now)
	}
	r.now = r.now.Add(abandonedAfter + keepFailed + time.Second)
	if n, err := r.ExpireUploads(t.Context()); err != nil || n != videos {
		t.Fatalf("%d uploads expired, %v; want %d", n, err, videos)
	}
	r.stuck = last
	n, err := r.RemoveFailedUploads(t.Context())
	if err == nil {
		t.Fatalf("%d videos were removed without an error; want that of the one that is stuck", n)
	}
	r.stuck = ""
	again, err := r.RemoveFailedUploads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.FinishDeletions(t.Context()); err != nil {
		t.Fatal(err)
	}
	var left []video.Video
	err = r.store.Read(t.Context(), func(q store.Queries) (err error) {
		left, err = q.SelectVideos(t.Context(), `LIMIT 10`)
		return err
	})
	marked, errMarked := r.store.MarkedDeleted(t.Context())
	if err != nil || errMarked != nil || len(left) > 0 || len(marked) > 0 || n+again < videos-100 {
		t.Errorf("%d and then %d videos were removed; %d are left and %d marked, %v %v; want none", n, again, len(left), len(marked), err, errMarked)
	}
}
