package s3

import (
	"context"
	"math/rand/v2"
	"time"
)

// firstDelay is the shortest pause after the first try.
const firstDelay = 100 * time.Millisecond

// backoff is how long to wait before another try: up to twice as long each time,
// and at random, so that clients that failed together do not return together.
type backoff struct {
	max time.Duration // of one pause
}

// delay returns the pause after the attempt with this number, counted from 1.
func (b backoff) delay(attempt int) time.Duration {
	limit := min(b.max, firstDelay<<min(attempt, 16))
	return limit/2 + rand.N(limit/2+1)
}

// wait pauses after an attempt, or returns the error of ctx.
func (b backoff) wait(ctx context.Context, attempt int) error {
	t := time.NewTimer(b.delay(attempt))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
