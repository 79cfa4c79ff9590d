package health

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestReadinessIsSharedForASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var checks atomic.Int64
		var failure error
		r := newReadiness(func(context.Context) error {
			checks.Add(1)
			time.Sleep(3 * time.Second) // a slow bucket
			return failure
		})
		ask := func(want error, wantChecks int64) {
			t.Helper()
			var all sync.WaitGroup
			for range 100 {
				all.Go(func() {
					if _, err := r.Get(t.Context()); !errors.Is(err, want) {
						t.Errorf("ready = %v, want %v", err, want)
					}
				})
			}
			all.Wait()
			if n := checks.Swap(0); n != wantChecks {
				t.Errorf("%d checks for 100 requests, want %d", n, wantChecks)
			}
		}
		ask(nil, 1)
		time.Sleep(readyMaxAge - time.Nanosecond)
		ask(nil, 0)
		failure = errors.New("the bucket is gone")
		time.Sleep(time.Nanosecond)
		ask(failure, 1)
		ask(failure, 0)
	})
}

// A client that leaves ends its own request, not the check that others wait for.
func TestReadinessOutlivesTheRequestThatBeganTheCheck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReadiness(func(ctx context.Context) error {
			select {
			case <-time.After(time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan error)
		go func() {
			_, err := r.Get(ctx)
			first <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("the first request = %v", err)
		}
		if _, err := r.Get(t.Context()); err != nil {
			t.Errorf("the second request = %v", err)
		}
	})
}

func TestReadinessTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReadiness(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		began := time.Now()
		if _, err := r.Get(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != readyTimeout {
			t.Errorf("a silent part = %v after %s", err, time.Since(began))
		}
	})
}
