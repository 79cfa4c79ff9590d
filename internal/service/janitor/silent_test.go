package janitor_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// silentStore does not list anything, and removes nothing, until answers is closed.
type silentStore struct {
	*disk.Store
	answers chan struct{} // nil: it answers
}

func (s *silentStore) wait(ctx context.Context) error {
	if s.answers == nil {
		return nil
	}
	select {
	case <-s.answers:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *silentStore) List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error] {
	if err := s.wait(ctx); err != nil {
		return func(yield func(blob.Info, error) bool) { yield(blob.Info{}, err) }
	}
	return s.Store.List(ctx, prefix)
}

func (s *silentStore) Delete(ctx context.Context, keys ...string) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.Store.Delete(ctx, keys...)
}

// A client does not wait for a storage that does not answer, and the deletion goes on without it.
func TestADeletionDoesNotWaitForASilentStorage(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"video", "resolution"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			silent := &silentStore{}
			b := servicetest.NewOn(t, func(s *disk.Store) blob.Store { silent.Store = s; return silent })
			v := b.Ready(servicetest.Plan("720p", "240p"))
			silent.answers = make(chan struct{})
			b.Deleter.Wait = time.Millisecond
			var err error
			if what == "video" {
				err = b.DeleteVideo(t.Context(), b.By, v.ID)
			} else {
				err = b.DeleteResolution(t.Context(), b.By, v.Resolutions[0].ID)
			}
			servicetest.WantCode(t, err, video.Unavailable, "storage_unavailable")
			if what == "video" { // it is gone for everybody who asks, but its files may be there
				_, err := b.Catalog.Public(t.Context(), b.By, v.ID, servicetest.Base)
				servicetest.WantCode(t, err, video.NotFound, "video_not_found")
			}
			close(silent.answers)
			gone := func() bool {
				if what == "video" {
					_, err := b.Store.Video(t.Context(), v.ID)
					return video.KindOf(err) == video.NotFound
				}
				o, err := b.OpenPublic(t.Context(), v.ID, "720p.mp4")
				if err == nil {
					o.Close()
				}
				return video.KindOf(err) == video.NotFound
			}
			for deadline := time.Now().Add(time.Minute); !gone(); time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("nothing is removed")
				}
			}
			b.Must(b.Store.InTx(t.Context(), func(*store.Tx) error { return nil })) // waits for the one that removes
		})
	}
}
