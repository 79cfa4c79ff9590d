package remote

import (
	"context"
	"errors"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
)

// commitGrace is how long a request that makes an object visible may go on after
// its caller has gone.
const commitGrace = 8 * time.Second

// CommitContext returns the context for a request that makes an object visible.
// Cancelling such a request would leave open whether, and when, the object appears:
// perhaps after everything else of its video was deleted. So once it has begun, it
// gets some time to finish.
func CommitContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() != nil {
		return ctx, func() {}
	}
	detached, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(commitGrace):
			cancel(context.Cause(ctx))
		case <-detached.Done():
		}
	})
	return detached, func() { stop(); cancel(nil) }
}

// copyTries is how often a copy of any version starts again because its source was
// replaced meanwhile.
const copyTries = 5

// RetryChanged calls do, which works on the version that it finds, and calls it
// again while that version is replaced under its hands.
func RetryChanged[T any](do func() (T, error)) (T, error) {
	result, err := do()
	for range copyTries {
		if !errors.Is(err, blob.ErrChanged) {
			break
		}
		result, err = do()
	}
	return result, err
}
