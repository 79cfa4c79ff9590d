package cache

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestManyWhoAskShareOneQuery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		r := NewRecent(func(context.Context) (int64, error) {
			time.Sleep(time.Second)
			return asked.Add(1), nil
		}, time.Minute, func(took time.Duration, _ error) time.Duration { return 10 * took })
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
		time.Sleep(10*time.Second - time.Nanosecond)
		askAll(1)
		time.Sleep(time.Nanosecond)
		askAll(2)
	})
}

func TestAQueryThatFailsIsNotRepeatedAtOnce(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	for name, query := range map[string]func() error{"an error": func() error { return gone }, "a panic": func() error { panic(gone) }} {
		asked := 0
		r := NewRecent(func(context.Context) (int, error) { asked++; return 0, query() }, time.Minute,
			func(_ time.Duration, err error) time.Duration {
				if err == nil {
					t.Errorf("%s is none to the one who chooses the pause", name)
				}
				return time.Minute
			})
		for range 3 {
			if _, err := r.Get(t.Context()); err == nil {
				t.Errorf("%s was lost", name)
			}
		}
		if asked != 1 {
			t.Errorf("after %s it was asked %d times, want once", name, asked)
		}
	}
}

// One who leaves must not take the answer from those who wait.
func TestAQueryOutlivesTheOneWhoAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		r := NewRecent(func(ctx context.Context) (int, error) {
			asked++
			time.Sleep(time.Second)
			return 7, ctx.Err()
		}, time.Minute, func(time.Duration, error) time.Duration { return 0 })
		ctx, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, leave)
		if _, err := r.Get(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("the one who leaves gets %v", err)
		}
		if n, err := r.Get(t.Context()); n != 7 || err != nil || asked != 1 {
			t.Errorf("the answer is %d, %v after %d queries; want 7 after one", n, err, asked)
		}
	})
}

func TestAQueryTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := NewRecent(func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() }, time.Minute,
			func(time.Duration, error) time.Duration { return 0 })
		began := time.Now()
		if _, err := r.Get(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
			t.Errorf("it ends with %v after %s", err, time.Since(began))
		}
	})
}
