package metrics

import (
	"context"
	"sync"
	"time"
)

const (
	// An answer is reused for restFactor times as long as its query took, within
	// these bounds. The query reads a row for each waiting task, and every scrape of
	// every process would repeat it. A short queue is counted in a millisecond, so
	// that its metrics are current; a query that costs the database something takes
	// at most 2 % of the time.
	restFactor = 50
	minRest    = time.Second
	maxRest    = 15 * time.Second

	// queryTimeout bounds how long a scrape waits for the database.
	queryTimeout = 5 * time.Second
)

// cache answers scrapes from a recent query. Scrapes that arrive during a query
// wait for it and share its answer, which may be an error.
type cache[T any] struct {
	ctx   context.Context // of the process: a collector is not given one
	query func(context.Context) (T, error)
	now   func() time.Time

	mu    sync.Mutex
	until time.Time // when the answer gets too old
	value T
	err   error
}

// get returns the answer of a recent query.
func (c *cache[T]) get() (T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if began := c.now(); !began.Before(c.until) {
		ctx, cancel := context.WithTimeout(c.ctx, queryTimeout)
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
