package limit

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"
)

func mustAcquire(t *testing.T, s *Shares[string], principal string, n int64) (release func()) {
	t.Helper()
	release, err := s.TryAcquire(principal, n)
	if err != nil {
		t.Fatalf("%s gets none of %d: %v", principal, n, err)
	}
	return release
}

func TestShares(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pool := semaphore.NewWeighted(5)
		s, others := NewShares[string](3, pool), NewShares[string](4, pool)
		first := mustAcquire(t, s, "a", 1)
		second := mustAcquire(t, s, "a", 2)
		if _, err := s.TryAcquire("a", 1); !errors.Is(err, ErrShare) {
			t.Errorf("beyond its share, a gets %v; want ErrShare", err)
		}
		b := mustAcquire(t, others, "b", 2)
		for _, try := range []func(ctx context.Context) (func(), error){
			func(ctx context.Context) (func(), error) { return s.Acquire(ctx, "c", 1) },
			func(ctx context.Context) (func(), error) { return others.Acquire(ctx, "b", 1) },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			began := time.Now()
			if _, err := try(ctx); !errors.Is(err, ErrPool) || time.Since(began) != time.Second {
				t.Errorf("of a pool in use it gets %v after %s; want ErrPool after a second", err, time.Since(began))
			}
			cancel()
		}
		time.AfterFunc(time.Minute, first)
		began := time.Now()
		c, err := s.Acquire(t.Context(), "c", 1)
		if err != nil || time.Since(began) != time.Minute {
			t.Errorf("c gets %v after %s; want its part when a has released one", err, time.Since(began))
		}
		second()
		b()
		c()
		if len(s.users) != 0 || len(others.users) != 0 || !pool.TryAcquire(5) {
			t.Errorf("after all were released, %d and %d principals are left", len(s.users), len(others.users))
		}
	})
}

func TestSharesOfManyAtOnce(t *testing.T) {
	t.Parallel()
	const each, all = 2, 4
	s := NewShares[string](each, semaphore.NewWeighted(all))
	var total atomic.Int64
	byPrincipal := map[string]*atomic.Int64{"a": {}, "b": {}, "c": {}}
	var wg sync.WaitGroup
	for principal, own := range byPrincipal {
		for range 50 {
			wg.Go(func() {
				release, err := s.Acquire(t.Context(), principal, 1)
				if err != nil {
					t.Error(err)
					return
				}
				defer release()
				if n, sum := own.Add(1), total.Add(1); n > each || sum > all {
					t.Errorf("%d of %s and %d of all run at once; want %d and %d at most", n, principal, sum, each, all)
				}
				own.Add(-1)
				total.Add(-1)
			})
		}
	}
	wg.Wait()
	if len(s.users) != 0 {
		t.Errorf("%d principals are left", len(s.users))
	}
}

// Those who wait take memory, so not all of them may.
func TestFewWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewShares[string](1, nil)
		release := mustAcquire(t, s, "a", 1)
		var waited atomic.Int64
		for range maxWaiting {
			go func() {
				release, err := s.Acquire(t.Context(), "a", 1)
				if err != nil {
					t.Error(err)
					return
				}
				waited.Add(1)
				release()
			}()
		}
		synctest.Wait()
		if _, err := s.Acquire(t.Context(), "a", 1); !errors.Is(err, ErrShare) {
			t.Errorf("one more request waits, and gets %v", err)
		}
		mustAcquire(t, s, "b", 1)()
		release()
		synctest.Wait()
		if n := waited.Load(); n != maxWaiting {
			t.Errorf("%d of those who waited got their share", n)
		}
		mustAcquire(t, s, "a", 1)()
	})
}
