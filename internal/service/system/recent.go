package system

import (
	"context"
	"time"

	"github.com/spool-video/spool/internal/cache"
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

// NewRecent returns the recent answers of a query that costs the database something.
func NewRecent[T any](query func(context.Context) (T, error)) *cache.Recent[T] {
	return cache.NewRecent(query, queryTimeout, func(took time.Duration, err error) time.Duration {
		if err != nil {
			return minRest // the database may be back any moment
		}
		return min(max(restFactor*took, minRest), maxRest)
	})
}
