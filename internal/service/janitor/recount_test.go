package janitor_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/clock"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/janitor"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/service/system"
)

// worked is a queue whose worker has finished so many tasks.
type worked struct {
	queue.Queue
	done int64
}

func (w *worked) Workers(context.Context) ([]queue.Worker, error) {
	return []queue.Worker{{Done: w.done}}, nil
}

// A storage that holds little is counted again when tasks were finished, and no other.
func TestRecountOfASmallStorage(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx, tasks := t.Context(), &worked{Queue: b.Queue}
	now, err := clock.NewDatabase(ctx, b.Store.Now)
	b.Must(err)
	m := &janitor.Maintenance{
		Store: b.Store, Clock: now, Log: slog.New(slog.DiscardHandler),
		Cleaner: janitor.NewCleaner(janitor.Config{}, b.Store, tasks, b.Blobs, b.Uploads, b.Marker, b.Now, nil, nil),
	}
	recount := func(what string, want int64) {
		t.Helper()
		m.Recount(ctx)
		all, err := system.CountsOfAreas(ctx, b.Store)
		b.Must(err)
		var bytes int64
		for _, c := range all {
			bytes += c.Bytes
		}
		if bytes != want {
			t.Errorf("%s: %d bytes are stored, want %d", what, bytes, want)
		}
	}
	put := func(key, text string) {
		t.Helper()
		_, err := b.Blobs.Put(ctx, key, strings.NewReader(text))
		b.Must(err)
	}
	const id = "0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"
	put("public/"+id+"/720p.mp4", "film")
	tasks.done = 1
	recount("no sweep has counted it", 0)
	b.Must(system.RecordStored(ctx, b.Store, system.Stored{Area: "public", CountedAt: b.Now()}))
	recount("the first sweep came before the film", 4)
	put("source/"+id+"/x", "source")
	recount("nothing was finished since", 4)
	tasks.done = 2
	recount("a task was finished", 10)
	b.Must(system.RecordStored(ctx, b.Store, system.Stored{Area: "public", Objects: 1_000_000, Bytes: 7, CountedAt: b.Now()}))
	tasks.done = 3
	recount("there are a million objects", 13)
}
