package system

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Many Prometheus servers may scrape many processes, and many people may look at the
// console. The queries behind it read a row for each task.
func TestManyWhoAskShareOneQuery(t *testing.T) {
	t.Parallel()
	var now, asked atomic.Int64 // now in nanoseconds
	r := NewRecent(func(context.Context) (int64, error) {
		now.Add(int64(time.Second)) // it takes a second
		return asked.Add(1), nil
	}, func() time.Time { return time.Unix(1, now.Load()) })
	askAll := func(want int64) {
		t.Helper()
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if n, err := r.Get(t.Context()); n != want || err != nil {
					t.Errorf("the answer is %d, %v, want %d", n, err, want)
				}
			})
		}
		all.Wait()
	}
	askAll(1)
	now.Add(int64(maxRest - time.Second))
	askAll(1)
	now.Add(int64(2 * time.Second))
	askAll(2)
}

func TestAQueryThatFailsIsNotRepeatedAtOnce(t *testing.T) {
	t.Parallel()
	asked := 0
	r := NewRecent(func(context.Context) (int, error) { asked++; return 0, errors.New("gone") }, time.Now)
	for range 3 {
		if _, err := r.Get(t.Context()); err == nil {
			t.Error("the error was lost")
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times, want once", asked)
	}
}

// One who leaves must not take the answer from those who wait.
func TestAQueryOutlivesTheOneWhoAsked(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := NewRecent(func(ctx context.Context) (int, error) { return 7, ctx.Err() }, time.Now)
	if n, err := r.Get(ctx); n != 7 || err != nil {
		t.Errorf("the answer is %d, %v", n, err)
	}
}
