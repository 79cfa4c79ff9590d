package local

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
)

// A clock that was a day ahead is set back: what failed meanwhile must not wait for that day.
func TestAClockThatWasAheadDelaysNoRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var ahead atomic.Int64
		ahead.Store(int64(24 * time.Hour))
		r.q.now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		ran := make(chan int, 10)
		r.start(1, func(_ context.Context, task queue.Task) error {
			if ran <- task.Attempt; task.Attempt == 1 {
				return errors.New("no luck")
			}
			return nil
		})
		r.enqueue(queue.Task{Kind: queue.Encode, Video: someVideo})
		<-ran
		synctest.Wait() // the failure is recorded
		ahead.Store(0)
		began := time.Now()
		if attempt := <-ran; attempt != 2 {
			t.Errorf("attempt %d; want 2", attempt)
		}
		if waited := time.Since(began); waited > time.Minute {
			t.Errorf("the retry waited for %v", waited)
		}
	})
}
