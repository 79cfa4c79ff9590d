package system

import (
	"context"
	"sync"
	"time"
)

const (
	// An answer is reused for restFactor times as long as its query took, within
	// these bounds. The query reads a row for each waiting task, and every scrape of
	// every process would repeat it. A short queue is counted in a millisecond, so
	// that its numbers are current; a query that costs the database something takes
	// at most 2 % of the time.
	restFactor = 50
	minRest    = time.Second
	maxRest    = 15 * time.Second

	// queryTimeout bounds how long somebody waits for the database.
	queryTimeout = 5 * time.Second
)

// Recent answers a question from a recent query. Those who ask during a query wait
// for it and share its answer, which may be an error.
type Recent[T any] struct {
	query func(context.Context) (T, error)
	now   func() time.Time

	mu    sync.Mutex
	until time.Time // when the answer gets too old
	value T
	err   error
}

// NewRecent returns a Recent that asks query, by a clock such as time.Now.
func NewRecent[T any](query func(context.Context) (T, error), now func() time.Time) *Recent[T] {
	return &Recent[T]{query: query, now: now}
}

// Get returns the answer of a recent query. The query does not end with ctx: others
// may wait for it.
func (c *Recent[T]) Get(ctx context.Context) (T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if began := c.now(); !began.Before(c.until) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), queryTimeout)
		defer cancel()
		c.value, c.err = c.query(ctx)
		ended := c.now()
		rest := min(max(restFactor*ended.Sub(began), minRest), maxRest)
		if c.err != nil {
			rest = minRest // the database may be back any moment
		}
		c.until = ended.Add(rest)
	}
	return c.value, c.err
}
