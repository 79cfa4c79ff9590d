package health

import (
	"context"
	"time"

	"github.com/spool-video/spool/internal/cache"
)

const (
	// readyTimeout is how long the database and the storage may take to respond.
	readyTimeout = 5 * time.Second
	// readyMaxAge is how long a result is reused. A check of a bucket is a LIST, which costs money,
	// and /readyz needs no key.
	readyMaxAge = time.Second
)

// newReadiness returns the recent results of a check whether the parts of the service respond.
func newReadiness(check func(context.Context) error) *cache.Recent[struct{}] {
	return cache.NewRecent(func(ctx context.Context) (struct{}, error) { return struct{}{}, check(ctx) }, readyTimeout,
		func(time.Duration, error) time.Duration { return readyMaxAge })
}
