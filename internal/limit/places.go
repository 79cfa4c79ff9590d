package limit

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// Places are a pool whose shares bind only while it is short: half of it is for those who come first,
// and of the other half each principal gets its share. So many people behind one address do not notice the
// shares, and one client that takes all it can leaves enough for the others.
type Places[K comparable] struct {
	each   int64
	first  *semaphore.Weighted
	shares *Shares[K]
}

// NewPlaces returns a pool of this size.
func NewPlaces[K comparable](each, all int64) *Places[K] {
	half := max(1, all/2)
	each = min(each, half)
	return &Places[K]{each: each, first: semaphore.NewWeighted(half), shares: NewShares[K](each, semaphore.NewWeighted(half))}
}

// Acquire waits until a principal can use n more of the pool. What is larger than a share counts as a whole
// one. The caller must call release once. The error is ErrShare or ErrPool.
func (p *Places[K]) Acquire(ctx context.Context, principal K, n int64) (release func(), err error) {
	n = min(n, p.each)
	if p.first.TryAcquire(n) {
		return func() { p.first.Release(n) }, nil
	}
	return p.shares.Acquire(ctx, principal, n)
}

// TryAcquire is Acquire without waiting.
func (p *Places[K]) TryAcquire(principal K, n int64) (release func(), err error) {
	n = min(n, p.each)
	if p.first.TryAcquire(n) {
		return func() { p.first.Release(n) }, nil
	}
	return p.shares.TryAcquire(principal, n)
}
