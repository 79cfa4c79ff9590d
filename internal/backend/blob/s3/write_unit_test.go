package s3

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/spool-video/spool/internal/backend/blob"
)

func TestWithGrace(t *testing.T) {
	t.Parallel()
	gone := errors.New("the caller is gone")
	t.Run("a request that has begun gets some time to finish", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancelCause(t.Context())
			detached, cancel := withGrace(ctx, commitGrace)
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
		if detached, _ := withGrace(ctx, commitGrace); detached.Err() == nil {
			t.Error("it begins")
		}
	})
	t.Run("one that has finished leaves nothing behind", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			_, cancel := withGrace(ctx, commitGrace)
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
		_, err := retryChanged(func() (int, error) {
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

// etag is that of every part.
var etag = aws.String("1")

func TestPartsAreSentInParallel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newMultipart(t.Context(), nil, "key", nil, 3)
		var now, most, released atomic.Int32
		for range 10 {
			u.add(1, func() { released.Add(1) }, func(context.Context, int32) (*string, error) {
				most.Store(max(most.Load(), now.Add(1)))
				time.Sleep(time.Second)
				now.Add(-1)
				return etag, nil
			})
		}
		if err := u.wait(); err != nil || most.Load() != 3 || released.Load() != 10 || len(u.parts) != 10 {
			t.Errorf("wait = %v with %d at once, %d released, %d parts; want 3, 10 and 10", err, most.Load(), released.Load(), len(u.parts))
		}
		u.stop()
	})
}

func TestFirstErrorOfAPartFailsTheWrite(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func() (*string, error){
		"error": func() (*string, error) { return nil, errBroken },
		"panic": func() (*string, error) { panic(errBroken) },
	} {
		synctest.Test(t, func(t *testing.T) {
			u := newMultipart(t.Context(), nil, "key", nil, 2)
			released := 0
			u.add(1, func() {}, func(context.Context, int32) (*string, error) { return do() })
			synctest.Wait()
			u.add(1, func() { released++ }, func(context.Context, int32) (*string, error) {
				t.Error("a part is sent after the error")
				return etag, nil
			})
			if err := u.wait(); err == nil || !strings.Contains(err.Error(), errBroken.Error()) || released != 1 {
				t.Errorf("after an %s, wait = %v, %d released; want %v", name, err, released, errBroken)
			}
			u.stop()
		})
	}
}

// A part that is cut off may arrive after the abort, and stay.
func TestPartsInFlightGetTimeToArrive(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		takes time.Duration
		cut   bool
	}{{settleGrace - time.Second, false}, {time.Hour, true}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			u := newMultipart(ctx, nil, "key", nil, 1)
			u.done = true // there is nothing to abort
			cut := false
			u.add(1, func() {}, func(ctx context.Context, _ int32) (*string, error) {
				select {
				case <-time.After(tt.takes):
				case <-ctx.Done():
					cut = true
				}
				return etag, nil
			})
			synctest.Wait()
			cancel()
			began := time.Now()
			u.end()
			if took := time.Since(began); cut != tt.cut || took > settleGrace {
				t.Errorf("a part of %s: cut off %t after %s; want %t", tt.takes, cut, took, tt.cut)
			}
		})
	}
}
