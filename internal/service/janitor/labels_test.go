package janitor_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/clock"
	"github.com/spool-video/spool/internal/service/janitor"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// Videos of a version without an index of metadata are added to it by the maintenance.
func TestMetadataOfOlderVideosIsIndexed(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	const videos = 3
	for range videos {
		b.Create(video.Draft{Metadata: json.RawMessage(`{"album":"holiday"}`)})
	}
	for _, text := range []string{`DELETE FROM label`, `UPDATE video SET labelled = NULL`} {
		_, err := b.Store.Writer().ExecContext(t.Context(), text)
		b.Must(err)
	}
	now, err := clock.NewDatabase(t.Context(), b.Store.Now)
	b.Must(err)
	m := &janitor.Maintenance{Store: b.Store, Clock: now, Log: slog.New(slog.DiscardHandler)}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { m.IndexMetadata(ctx) })
	for indexed := 0; indexed < videos; time.Sleep(time.Millisecond) {
		b.Must(b.Store.Reader().QueryRowContext(t.Context(), `SELECT count(*) FROM label`).Scan(&indexed))
	}
	cancel()
	running.Wait()
	page, err := b.Catalog.List(t.Context(), b.By, video.Filter{Labels: []video.Label{{Key: "album", Value: "holiday"}}}, video.Cursor{}, 10)
	if b.Must(err); len(page.Videos) != videos {
		t.Errorf("a search finds %d videos, want %d", len(page.Videos), videos)
	}
}
