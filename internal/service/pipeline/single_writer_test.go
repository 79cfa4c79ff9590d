package pipeline_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/blob/s3"
	"github.com/spool-video/spool/internal/backend/blob/s3/s3test"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// SQLite has a single writer: what waits for the storage inside a transaction has every request that
// writes wait, too.

// slowBucket is a bucket in which copies do not end while the gate is closed.
type slowBucket struct {
	forward http.Handler
	closed  atomic.Bool
	begun   chan string // gets the path of each copy that waits
	open    chan struct{}
	once    sync.Once
}

func (b *slowBucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if b.closed.Load() && r.Header.Get("X-Amz-Copy-Source") != "" {
		b.begun <- r.URL.Path
		<-b.open
	}
	b.forward.ServeHTTP(w, r)
}

func (b *slowBucket) release() { b.once.Do(func() { close(b.open) }) }

// newBucketRig returns a rig on SQLite and a bucket, and a video that is transcoded.
func newBucketRig(t *testing.T, d video.Draft) (*servicetest.Rig, *slowBucket, video.ID) {
	t.Helper()
	server := s3test.Start(t)
	bucket := &slowBucket{forward: server.Forward(t), begun: make(chan string, 100), open: make(chan struct{})}
	proxy := httptest.NewServer(bucket)
	t.Cleanup(proxy.Close)
	t.Cleanup(bucket.release)
	address := strings.Replace(server.URL(server.Bucket(t), "spool"), server.Endpoint, proxy.URL, 1)
	st, err := s3.Open(t.Context(), address, s3.Options{Credentials: server.Credentials()})
	if err != nil {
		t.Fatal(err)
	}
	b := servicetest.NewOn(t, func(*disk.Store) blob.Store { return st })
	id := b.Create(d).Video.ID
	_, err = st.Put(t.Context(), objects.Upload(id), strings.NewReader(string(servicetest.LikeVideo)))
	b.Must(err)
	_, err = b.Uploads.Complete(t.Context(), b.By, id)
	b.Must(err)
	b.Transcode(id, servicetest.Plan("720p", "240p"))
	bucket.closed.Store(true)
	return b, bucket, id
}

// wantOthersGoOn creates a video, which must not wait.
func wantOthersGoOn(t *testing.T, b *servicetest.Rig, while string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if _, err := b.Catalog.Create(ctx, b.By, video.Draft{Filename: "film.mp4", Resolutions: []video.Name{"144p"}}, servicetest.Base); err != nil {
		t.Errorf("a video cannot be created while %s: %v", while, err)
	}
}

func TestOthersGoOnWhileABucketCopies(t *testing.T) {
	t.Parallel()
	for name, publish := range map[string]func(ctx context.Context, b *servicetest.Rig, id video.ID) error{
		"a rendition": func(ctx context.Context, b *servicetest.Rig, id video.ID) error {
			return b.PublishRendition(ctx, b.Video(id), 0, pipeline.RenditionFile{Path: b.File(servicetest.Rendition), Width: 2, Height: 2, Duration: time.Second})
		},
		"thumbnails": func(ctx context.Context, b *servicetest.Rig, id video.ID) error {
			return b.PublishThumbnails(ctx, b.Video(id), []pipeline.ThumbnailFile{{Path: b.File("first")}, {Thumbnail: 1, Path: b.File("second")}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, bucket, id := newBucketRig(t, video.Draft{IsPublic: true, Thumbnails: []float64{1, 2}})
			published := make(chan error, 1)
			go func() { published <- publish(t.Context(), b, id) }()
			<-bucket.begun
			wantOthersGoOn(t, b, "the bucket copies "+name)
			bucket.release()
			b.Must(<-published)
			file := map[string]string{"a rendition": "720p.mp4", "thumbnails": "720p-1.jpg"}[name]
			o, err := b.OpenPublic(t.Context(), id, file)
			b.Must(err)
			o.Close()
		})
	}
}

// silentStore does not answer when it is told not to.
type silentStore struct {
	*disk.Store
	silent atomic.Bool
	asked  chan struct{}
}

func (s *silentStore) wait(ctx context.Context) error {
	if !s.silent.Load() {
		return nil
	}
	select {
	case s.asked <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return ctx.Err()
}

func (s *silentStore) Ping(ctx context.Context) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.Store.Ping(ctx)
}

func (s *silentStore) Delete(ctx context.Context, keys ...string) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.Store.Delete(ctx, keys...)
}

func TestOthersGoOnWhileASilentBucketIsToRemoveAFile(t *testing.T) {
	t.Parallel()
	silent := &silentStore{asked: make(chan struct{}, 1)}
	b := servicetest.NewOn(t, func(s *disk.Store) blob.Store { silent.Store = s; return silent })
	v := b.Ready(servicetest.Plan("720p", "240p"))
	silent.silent.Store(true)
	deleted, ctx := make(chan error, 1), t.Context()
	go func() { deleted <- b.DeleteResolution(ctx, b.By, v.Resolutions[0].ID) }()
	<-silent.asked
	wantOthersGoOn(t, b, "the bucket is silent")
	if err := <-deleted; video.KindOf(err) != video.Unavailable {
		t.Errorf("DeleteResolution = %v; want that the storage does not answer", err)
	}
	silent.silent.Store(false)
	b.Must(b.Purge(t.Context(), v.ID))
	if keys := b.Objects(); len(keys) != 2 { // the source and the other resolution
		t.Errorf("%v are left", keys)
	}
}
