package remote

import (
	"context"
	"math/rand/v2"
	"time"
)

// firstDelay is the shortest pause after the first try.
const firstDelay = 100 * time.Millisecond

// Backoff is how long to wait before another try: up to twice as long each time,
// and at random, so that clients that failed together do not return together.
type Backoff struct {
	Max time.Duration // of one pause
}

// Delay returns the pause after the attempt with this number, counted from 1.
func (b Backoff) Delay(attempt int) time.Duration {
	limit := min(b.Max, firstDelay<<min(attempt, 16))
	return limit/2 + rand.N(limit/2+1)
}

// Wait pauses after an attempt, or returns the error of ctx.
func (b Backoff) Wait(ctx context.Context, attempt int) error {
	t := time.NewTimer(b.Delay(attempt))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
