package remote

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
)

func TestCommitContext(t *testing.T) {
	t.Parallel()
	gone := errors.New("the caller is gone")
	t.Run("a request that has begun gets some time to finish", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancelCause(t.Context())
			detached, cancel := CommitContext(ctx)
			defer cancel()
			stop(gone)
			time.Sleep(commitGrace - time.Second)
			if detached.Err() != nil {
				t.Error("it was cancelled at once")
			}
			time.Sleep(2 * time.Second)
			if !errors.Is(context.Cause(detached), gone) {
				t.Errorf("it ends with %v; want %v", context.Cause(detached), gone)
			}
		})
	})
	t.Run("one whose caller has gone already does not begin", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if detached, _ := CommitContext(ctx); detached.Err() == nil {
			t.Error("it begins")
		}
	})
	t.Run("one that has finished leaves nothing behind", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			_, cancel := CommitContext(ctx)
			stop()
			cancel() // the bubble fails when something still waits
		})
	})
}

func TestRetryChanged(t *testing.T) {
	t.Parallel()
	other := errors.New("something else")
	for name, tt := range map[string]struct {
		fails int
		err   error
		calls int
		want  error
	}{
		"success":               {0, nil, 1, nil},
		"replaced twice":        {2, blob.ErrChanged, 3, nil},
		"replaced all the time": {100, blob.ErrChanged, 6, blob.ErrChanged},
		"another error":         {100, other, 1, other},
	} {
		calls := 0
		_, err := RetryChanged(func() (int, error) {
			if calls++; calls <= tt.fails {
				return 0, tt.err
			}
			return calls, nil
		})
		if calls != tt.calls || !errors.Is(err, tt.want) {
			t.Errorf("%s: %d calls, %v; want %d, %v", name, calls, err, tt.calls, tt.want)
		}
	}
}

func TestPartsAreSentInParallel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewParts(t.Context(), 3)
		var now, most, released atomic.Int32
		for range 10 {
			p.Send(func() { released.Add(1) }, func(context.Context) error {
				most.Store(max(most.Load(), now.Add(1)))
				time.Sleep(time.Second)
				now.Add(-1)
				return nil
			})
		}
		if err := p.Wait(); err != nil || most.Load() != 3 || released.Load() != 10 {
			t.Errorf("Wait = %v with %d at once, %d released; want 3 and 10", err, most.Load(), released.Load())
		}
		p.Close()
	})
}

func TestFirstErrorOfAPartFailsTheWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewParts(t.Context(), 2)
		released := 0
		p.Send(func() {}, func(context.Context) error { return errBroken })
		synctest.Wait()
		p.Send(func() { released++ }, func(context.Context) error { t.Error("a part is sent after the error"); return nil })
		if err := p.Wait(); !errors.Is(err, errBroken) || !errors.Is(p.Cause(nil), errBroken) || released != 1 {
			t.Errorf("Wait = %v, cause %v, %d released; want %v", err, p.Cause(nil), released, errBroken)
		}
		p.Close()
	})
}

// A part that is cut off may arrive after the abort, and stay.
func TestPartsInFlightGetTimeToArrive(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		takes time.Duration
		cut   bool
	}{{settleTimeout - time.Second, false}, {time.Hour, true}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			p := NewParts(ctx, 1)
			cut := false
			p.Send(func() {}, func(ctx context.Context) error {
				select {
				case <-time.After(tt.takes):
				case <-ctx.Done():
					cut = true
				}
				return nil
			})
			cancel()
			began := time.Now()
			p.Close()
			if took := time.Since(began); cut != tt.cut || took > settleTimeout {
				t.Errorf("a part of %s: cut off %t after %s; want %t", tt.takes, cut, took, tt.cut)
			}
		})
	}
}
