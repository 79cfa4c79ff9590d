package s3

import (
	"context"
	"time"
)

// linger is how long a request that makes an object visible may go on after
// nobody wants it any more.
const linger = 8 * time.Second

// settled returns a context for such a request. Breaking it off would leave open
// whether, and when, the object appears: it may be after all that the video left
// was cleared away. So it is let end, for a while, once it has begun.
func settled(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() != nil {
		return ctx, func() {}
	}
	lasting, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(linger):
			cancel(context.Cause(ctx))
		case <-lasting.Done():
		}
	})
	return lasting, func() { stop(); cancel(nil) }
}
