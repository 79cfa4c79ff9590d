package s3

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestSettled(t *testing.T) {
	t.Parallel()
	gone := errors.New("nobody wants it")
	t.Run("a request that has begun is let end for a while", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancelCause(t.Context())
			lasting, cancel := settled(ctx)
			defer cancel()
			stop(gone)
			time.Sleep(linger - time.Second)
			if lasting.Err() != nil {
				t.Error("it was broken off at once")
			}
			time.Sleep(2 * time.Second)
			if !errors.Is(context.Cause(lasting), gone) {
				t.Errorf("after a while it ends with %v; want %v", context.Cause(lasting), gone)
			}
		})
	})
	t.Run("one that nobody wants any more is not begun", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if lasting, _ := settled(ctx); lasting.Err() == nil {
			t.Error("it begins")
		}
	})
	t.Run("what has ended leaves nothing behind", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			_, cancel := settled(ctx)
			stop()
			cancel() // the bubble fails when something still waits
		})
	})
}
