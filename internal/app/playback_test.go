package app_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/app"
	"github.com/spool-video/spool/internal/blob"
	"github.com/spool-video/spool/internal/blob/disk"
	"github.com/spool-video/spool/internal/video"
)

// deaf is a storage that takes requests and never answers.
type deaf struct{ blob.Store }

func (deaf) Stat(ctx context.Context, _ string) (blob.Info, error) {
	<-ctx.Done()
	return blob.Info{}, ctx.Err()
}

func (deaf) PresignGet(context.Context, string, time.Duration) (string, error) {
	return "https://bucket.example.com/film", nil
}

func TestAPlayerDoesNotWaitLongForAStorageThatIsSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBenchOn(t, func(s *disk.Store) blob.Store { return deaf{s} }, func(c *app.Config) { c.Redirect = true })
		id := b.create(video.Draft{IsPublic: true}).Video.ID
		// What waits for a minute is the test's own end, for a player that would wait for ever.
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		_, err := b.PublicAddress(ctx, id, "720p.mp4")
		wantCode(t, err, video.Unavailable, "storage_unavailable")
		if waited := time.Since(began); waited > 10*time.Second {
			t.Errorf("a player waited for %v", waited)
		}
	})
}
