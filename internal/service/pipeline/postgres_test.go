package pipeline_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// heldThumbnails is a store in which copies of thumbnails take until they are let go. As
// on S3, such a copy has read what it needs when it begins.
type heldThumbnails struct {
	blob.Store
	began, goOn chan struct{}
}

func (s heldThumbnails) Copy(ctx context.Context, from, to, etag string) (blob.Info, error) {
	if !strings.HasSuffix(to, ".jpg") {
		return s.Store.Copy(ctx, from, to, etag)
	}
	thumbnail, err := s.Open(ctx, from)
	if err != nil {
		return blob.Info{}, err
	}
	defer thumbnail.Close()
	s.began <- struct{}{}
	select {
	case <-s.goOn:
		return s.Put(ctx, to, thumbnail)
	case <-ctx.Done():
		return blob.Info{}, ctx.Err()
	}
}

// The lock of a video ends with its connection. Stills that are just being copied
// are called off then: a deletion may be confirmed from that moment on, and they
// must not appear after it.
func TestThumbnailsAreCancelledWhenTheLockIsLost(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits until a transaction is missed")
	}
	address := pgtest.Fresh(t)
	held := heldThumbnails{began: make(chan struct{}, 10), goOn: make(chan struct{})}
	b := servicetest.NewPostgres(t, address, func(s *disk.Store) blob.Store { held.Store = s; return held })
	v := b.Processing(video.Draft{IsPublic: true, Resolutions: []video.Name{"240p"}, Thumbnails: []float64{1}})
	b.Must(b.StorePlan(t.Context(), v.ID, servicetest.Plan("240p")))
	published := make(chan error, 1)
	thumbnail := pipeline.ThumbnailFile{Path: b.File("a thumbnail")}
	v = b.Video(v.ID)
	go func() { published <- b.PublishThumbnails(t.Context(), v, []pipeline.ThumbnailFile{thumbnail}) }()
	<-held.began
	pgtest.Exec(t, address, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND state = 'idle in transaction'`)
	b.Must(b.DeleteVideo(t.Context(), b.By, v.ID))
	select {
	case err := <-published:
		if err == nil {
			t.Error("thumbnails were published without the lock")
		}
	case <-time.After(time.Minute):
		close(held.goOn)
		<-published
	}
	for _, key := range b.Objects() {
		if strings.HasPrefix(key, "public/") {
			t.Errorf("%s appeared after its deletion was confirmed", key)
		}
	}
}
