package janitor_test

import (
	"testing"
	"time"

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
