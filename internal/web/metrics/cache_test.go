package metrics

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
)

// Many Prometheus servers may scrape many processes. The queries behind the
// metrics read a row for each task.
func TestScrapesShareOneQuery(t *testing.T) {
	t.Parallel()
	m := New("test")
	var now, counts, lists atomic.Int64 // now in nanoseconds
	m.now = func() time.Time { return time.Unix(1, now.Load()) }
	m.WatchQueue(t.Context(), nil, func(context.Context) (map[queue.Kind]queue.Stat, error) {
		now.Add(int64(time.Second)) // it takes a second
		return map[queue.Kind]queue.Stat{"encode": {Waiting: int(counts.Add(1))}}, nil
	})
	m.WatchWorkers(t.Context(), func(context.Context) ([]queue.Worker, error) { lists.Add(1); return nil, nil })

	scrapeAll := func(want string) {
		var scrapes sync.WaitGroup
		for range 20 {
			scrapes.Go(func() {
				if w := scrape(t, m, slog.New(slog.DiscardHandler)); !strings.Contains(w.Body.String(), want) {
					t.Errorf("the answer lacks %s", want)
				}
			})
		}
		scrapes.Wait()
	}
	scrapeAll(`spool_queue_tasks{kind="encode",state="waiting"} 1`)
	now.Add(int64(maxRest - time.Second))
	scrapeAll(`spool_queue_tasks{kind="encode",state="waiting"} 1`)
	if counts.Load() != 1 {
		t.Errorf("40 scrapes asked %d times, want once", counts.Load())
	}
	now.Add(int64(2 * time.Second))
	scrapeAll(`spool_queue_tasks{kind="encode",state="waiting"} 2`)
	// The list takes no time, so that it is repeated whenever the clock has moved.
	if counts.Load() != 2 || lists.Load() > 5 {
		t.Errorf("60 scrapes counted %d times and listed workers %d times, want at most 2 and 5", counts.Load(), lists.Load())
	}
}

func TestAQueryThatFailsIsNotRepeatedAtOnce(t *testing.T) {
	t.Parallel()
	asked := 0
	c := cache[int]{ctx: t.Context(), now: time.Now, query: func(context.Context) (int, error) { asked++; return 0, errors.New("gone") }}
	for range 3 {
		if _, err := c.get(); err == nil {
			t.Error("the error was lost")
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times, want once", asked)
	}
}

func TestAPanicDuringAScrapeEndsNothing(t *testing.T) {
	t.Parallel()
	m := New("test")
	m.WatchWorkers(t.Context(), func(context.Context) ([]queue.Worker, error) { panic("a mistake") })
	if w := scrape(t, m, slog.New(slog.DiscardHandler)); w.Code != http.StatusOK {
		t.Errorf("GET /metrics = %d, want 200", w.Code)
	}
}
