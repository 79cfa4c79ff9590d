package s3

import (
	"context"
	"time"
)

const (
	// commitGrace is how long a request that makes an object visible may go on after its caller has
	// gone. Cancelling it would leave open whether, and when, the object appears: perhaps after
	// everything else of its video was deleted.
	commitGrace = 8 * time.Second
	// settleGrace is how long the parts in flight of a failed write may go on: one that is cut off
	// may still arrive after the abort, and would stay.
	settleGrace = 5 * time.Second
)

// withGrace returns a context that ends this long after ctx, or at once if ctx has ended already.
func withGrace(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	if ctx.Err() != nil {
		return ctx, func() {}
	}
	detached, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(grace):
			cancel(context.Cause(ctx))
		case <-detached.Done():
		}
	})
	return detached, func() { stop(); cancel(nil) }
}
