package janitor_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// signingStore signs URLs as a bucket does. Files that are sent to them are put into it directly.
type signingStore struct{ *disk.Store }

func (s signingStore) Capabilities() blob.Capabilities {
	return blob.Capabilities{Presign: s}
}

func (signingStore) PresignPut(context.Context, string, string, time.Duration) (string, error) {
	return "https://bucket.example/put", nil
}

func (signingStore) PresignGet(context.Context, string, time.Duration, string) (string, error) {
	return "https://bucket.example/get", nil
}

func (signingStore) Origin(context.Context) (string, error) { return "https://bucket.example", nil }

// A bucket accepts a file after its video was deleted or its upload completed, and again after that.
func TestFilesThatCameTooLateAreSweptFromABucket(t *testing.T) {
	t.Parallel()
	b := servicetest.NewOn(t, func(s *disk.Store) blob.Store { return signingStore{s} })
	put := func(key string) string {
		t.Helper()
		_, err := b.Blobs.Put(t.Context(), key, strings.NewReader("late"))
		b.Must(err)
		return key
	}
	waiting, deleted := b.Create(video.Draft{}), b.Create(video.Draft{})
	processing := b.Create(video.Draft{})
	_, err := b.Blobs.Put(t.Context(), objects.Upload(processing.Video.ID), strings.NewReader(string(servicetest.LikeVideo)))
	b.Must(err)
	v, err := b.Uploads.Complete(t.Context(), b.By, processing.Video.ID)
	b.Must(err)
	b.Must(b.Deleter.DeleteVideo(t.Context(), b.By, deleted.Video.ID))
	kept := []string{
		b.Video(v.ID).Source.Key, put(objects.Upload(waiting.Video.ID)),
		put("public/" + string(deleted.Video.ID) + "/720p.mp4"), // not uploaded: the hourly sweep looks at these
	}
	for range 2 { // the URLs live on
		put(objects.Upload(deleted.Video.ID))
		put(objects.Upload(v.ID))
		r, err := b.SweepUploads(t.Context())
		if err != nil || r.Removed != 2 || r.Objects != 3 {
			t.Errorf("the sweep of uploads = %+v, %v; want 2 of 3 removed", r, err)
		}
		left := b.Objects()
		slices.Sort(left)
		slices.Sort(kept)
		if !slices.Equal(left, kept) {
			t.Errorf("%v are left; want %v", left, kept)
		}
	}
}

func TestUploadsThatPassThroughTheServiceAreNotSweptOften(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	_, err := b.Blobs.Put(t.Context(), "upload/0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e/file", strings.NewReader("x"))
	b.Must(err)
	if r, err := b.SweepUploads(t.Context()); err != nil || r.Objects > 0 {
		t.Errorf("the sweep of uploads = %+v, %v; want nothing examined", r, err)
	}
}
