package limit

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

var (
	// ErrShare means that a principal uses its whole share.
	ErrShare = errors.New("the share of the principal is in use")
	// ErrPool means that all principals together use the whole pool.
	ErrPool = errors.New("the whole pool is in use")
)

// Shares limits how much of a pool each principal uses at the same time, so that none takes all of
// it. Several Shares may have the same pool.
type Shares[K comparable] struct {
	each int64
	pool *semaphore.Weighted // nil: endless
	rest bool                // what was in use for a time cannot be used again for as long
	wait int                 // how many requests of a principal wait at a time

	mu    sync.Mutex
	users map[K]*share // principals that use or wait for a part of their share
}

type share struct {
	*semaphore.Weighted
	users   int
	waiting int // of them, with Acquire
}

// maxWaiting is how many requests of a principal wait at a time. Further ones are refused at once, since those
// who wait take memory, too.
const maxWaiting = 256

// NewShares returns shares of this size in a pool. Without one, only the principals are limited.
func NewShares[K comparable](each int64, pool *semaphore.Weighted) *Shares[K] {
	return &Shares[K]{each: each, pool: pool, users: map[K]*share{}, wait: maxWaiting}
}

// waitingAtMost sets how many requests of a principal wait at a time.
func (s *Shares[K]) waitingAtMost(n int) *Shares[K] {
	s.wait = n
	return s
}

// resting makes the shares rest after use: a principal that uses its share all the time gets half of it. So
// one that keeps a core busy computes for half of the time at most.
func (s *Shares[K]) resting() *Shares[K] {
	s.rest = true
	return s
}

const (
	// moment is how short a use may be that is followed by no rest.
	moment = 5 * time.Millisecond
	// longestRest is how long a rest takes at most.
	longestRest = time.Second
)

// afterRest calls release when the rest is over that follows so long a use.
func (s *Shares[K]) afterRest(used time.Duration, release func()) {
	if !s.rest || used < moment {
		release()
		return
	}
	time.AfterFunc(min(used, longestRest), release)
}

// Acquire waits until a principal can use n more of its share, and of the pool. The caller must
// call release once. The error is ErrShare or ErrPool: what was in use until ctx ended, or what
// maxWaiting others of the principal wait for.
func (s *Shares[K]) Acquire(ctx context.Context, principal K, n int64) (release func(), err error) {
	return s.take(principal, n, func(own *share, w *semaphore.Weighted) bool {
		if w.TryAcquire(n) {
			return true
		}
		if !s.beginWaiting(own) {
			return false
		}
		defer s.endWaiting(own)
		return w.Acquire(ctx, n) == nil
	})
}

// TryAcquire is Acquire without waiting.
func (s *Shares[K]) TryAcquire(principal K, n int64) (release func(), err error) {
	return s.take(principal, n, func(_ *share, w *semaphore.Weighted) bool { return w.TryAcquire(n) })
}

func (s *Shares[K]) take(principal K, n int64, acquire func(*share, *semaphore.Weighted) bool) (release func(), err error) {
	own := s.addUse(principal)
	if !acquire(own, own.Weighted) {
		s.removeUse(principal)
		return nil, ErrShare
	}
	if s.pool != nil && !acquire(own, s.pool) {
		own.Release(n)
		s.removeUse(principal)
		return nil, ErrPool
	}
	began := time.Now()
	return func() {
		if s.pool != nil {
			s.pool.Release(n)
		}
		s.afterRest(time.Since(began), func() {
			own.Release(n)
			s.removeUse(principal)
		})
	}, nil
}

// beginWaiting reports whether one more request of a principal may wait.
func (s *Shares[K]) beginWaiting(own *share) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own.waiting >= s.wait {
		return false
	}
	own.waiting++
	return true
}

func (s *Shares[K]) endWaiting(own *share) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own.waiting--
}

// addUse returns the share of a principal, which is kept until removeUse was called as often as addUse.
func (s *Shares[K]) addUse(principal K) *share {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.users[principal]
	if own == nil {
		own = &share{Weighted: semaphore.NewWeighted(s.each)}
		s.users[principal] = own
	}
	own.users++
	return own
}

func (s *Shares[K]) removeUse(principal K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.users[principal]
	if own.users--; own.users == 0 {
		delete(s.users, principal)
	}
}
