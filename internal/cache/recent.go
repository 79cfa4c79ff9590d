package cache

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/spool-video/spool/internal/panics"
)

// Recent keeps the answer of a query for a while. Callers that ask during a query share its answer,
// which may be an error.
type Recent[T any] struct {
	query   func(context.Context) (T, error)
	timeout time.Duration
	rest    func(took time.Duration, err error) time.Duration
	flights singleflight.Group

	mu     sync.Mutex
	until  time.Time // when the answer gets too old
	answer T
	err    error
}

// NewRecent returns a Recent. A query may take as long as timeout, and rest says for how long its
// answer is used afterwards.
func NewRecent[T any](query func(context.Context) (T, error), timeout time.Duration, rest func(took time.Duration, err error) time.Duration) *Recent[T] {
	return &Recent[T]{query: query, timeout: timeout, rest: rest}
}

// Get returns the answer of a recent query. The query does not end with ctx: others may wait for it.
func (r *Recent[T]) Get(ctx context.Context) (answer T, err error) {
	if answer, ok, err := r.known(); ok {
		return answer, err
	}
	asked := r.flights.DoChan("", func() (any, error) {
		if answer, ok, err := r.known(); ok { // since a moment ago
			return answer, err
		}
		return r.ask(context.WithoutCancel(ctx))
	})
	select {
	case result := <-asked:
		answer, _ = result.Val.(T)
		return answer, result.Err
	case <-ctx.Done():
		return answer, ctx.Err()
	}
}

func (r *Recent[T]) known() (answer T, ok bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answer, time.Now().Before(r.until), r.err
}

func (r *Recent[T]) ask(ctx context.Context) (answer T, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	began := time.Now()
	err = panics.Catch(func() (err error) {
		answer, err = r.query(ctx)
		return err
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer, r.err = answer, err
	r.until = time.Now().Add(r.rest(time.Since(began), err))
	return answer, err
}
