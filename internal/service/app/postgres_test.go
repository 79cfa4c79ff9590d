package app_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/queue/river"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/service/app"
	"github.com/spool-video/spool/internal/video"
)

// newPostgresBench returns a bench like that of a fleet. Nobody works there.
func newPostgresBench(t *testing.T, address string, wrap func(*disk.Store) blob.Store) *bench {
	t.Helper()
	b := &bench{t: t, clock: time.Now()}
	var err error
	b.store, err = store.OpenPostgres(t.Context(), address)
	b.must(err)
	t.Cleanup(func() { b.store.Close() })
	q, err := river.Open(t.Context(), b.store, river.Options{})
	b.must(err)
	b.blobs, err = disk.Open(filepath.Join(t.TempDir(), "objects"), disk.Options{})
	b.must(err)
	b.App, err = app.New(t.Context(), app.Config{UploadURLTTL: time.Hour, MaxUploadBytes: 1 << 20, AbandonedAfter: time.Hour, KeepSource: true}, app.Parts{
		Store: b.store, Queue: q, Blobs: wrap(b.blobs), Admit: probe.Admit,
		Log: slog.New(slog.DiscardHandler), Observer: b, Now: b.now,
	})
	b.must(err)
	b.by = b.actor(app.Key{})
	return b
}

// stillsHeld is a store in which copies of stills take until they are let go. As
// on S3, such a copy has read what it needs when it begins.
type stillsHeld struct {
	blob.Store
	began, goOn chan struct{}
}

func (s stillsHeld) Copy(ctx context.Context, from, to, etag string) (blob.Info, error) {
	if !strings.HasSuffix(to, ".jpg") {
		return s.Store.Copy(ctx, from, to, etag)
	}
	still, err := s.Open(ctx, from)
	if err != nil {
		return blob.Info{}, err
	}
	defer still.Close()
	s.began <- struct{}{}
	select {
	case <-s.goOn:
		return s.Put(ctx, to, still)
	case <-ctx.Done():
		return blob.Info{}, ctx.Err()
	}
}

// The lock of a video ends with its connection. Stills that are just being copied
// are called off then: a deletion may be confirmed from that moment on, and they
// must not appear after it.
func TestStillsAreCalledOffWhenTheLockIsLost(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits until a transaction is missed")
	}
	address := pgtest.Fresh(t)
	held := stillsHeld{began: make(chan struct{}, 10), goOn: make(chan struct{})}
	b := newPostgresBench(t, address, func(s *disk.Store) blob.Store { held.Store = s; return held })
	v := b.processing(video.Draft{IsPublic: true, Resolutions: []video.Name{"240p"}, Thumbnails: []float64{1}})
	b.must(b.Planned(t.Context(), v.ID, plan("240p")))
	published := make(chan error, 1)
	still := app.ThumbnailFile{Path: b.file("a still")}
	go func() { published <- b.PublishThumbnails(t.Context(), v.ID, []app.ThumbnailFile{still}) }()
	<-held.began
	pgtest.Exec(t, address, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND state = 'idle in transaction'`)
	b.must(b.DeleteVideo(t.Context(), b.by, v.ID))
	select {
	case err := <-published:
		if err == nil {
			t.Error("stills were published without the lock")
		}
	case <-time.After(time.Minute):
		close(held.goOn)
		<-published
	}
	for _, key := range b.keys() {
		if strings.HasPrefix(key, "public/") {
			t.Errorf("%s appeared after its deletion was confirmed", key)
		}
	}
}
