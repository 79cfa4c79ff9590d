package executor

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
)

// An attempt is known from Begin until its result is recorded, and among the
// HandlerIDs until its handler returns.
func TestAttemptIsKnownUntilItIsRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newExecutor()
		if ids := e.IDs(); ids == nil || len(ids) != 0 {
			t.Errorf("ids of nothing are %#v, want an empty list", ids)
		}
		a := e.Begin(t.Context(), 7, encode(3))
		returns, recorded := make(chan struct{}), make(chan struct{})
		go func() {
			_ = e.Execute(a, func(context.Context, queue.Task) error { <-returns; return nil },
				func(*Attempt, Result, time.Duration) func(context.Context) error {
					return func(context.Context) error { <-recorded; return nil }
				})
		}()
		synctest.Wait()
		e.knows(t, "while the handler works", []int64{7}, []int64{7}, []queue.Task{encode(3)})
		close(returns)
		synctest.Wait()
		e.knows(t, "while its result is recorded", []int64{7}, nil, []queue.Task{encode(3)})
		select {
		case <-a.Ended():
			t.Error("the attempt has ended before that was recorded")
		default:
		}
		close(recorded)
		<-a.Ended()
		e.knows(t, "after its end", []int64{}, nil, nil)
	})
}

func (e *Executor) knows(t *testing.T, when string, ids, working []int64, tasks []queue.Task) {
	t.Helper()
	if got := e.IDs(); !slices.Equal(got, ids) {
		t.Errorf("%s the ids are %v, want %v", when, got, ids)
	}
	if got := e.HandlerIDs(); !slices.Equal(got, working) {
		t.Errorf("%s %v are at work, want %v", when, got, working)
	}
	if got := e.Tasks(); !slices.Equal(got, tasks) {
		t.Errorf("%s the tasks are %v, want %v", when, got, tasks)
	}
}

func TestAttemptOn(t *testing.T) {
	t.Parallel()
	e := newExecutor()
	a := e.Begin(t.Context(), 7, encode(0))
	if got := e.AttemptOn(someVideo, nil); got != a {
		t.Errorf("the attempt on the video is %v, want %v", got, a)
	}
	if got := e.AttemptOn(someVideo, []queue.Kind{queue.Purge, queue.Encode}); got != nil {
		t.Errorf("found %s, which is of a kind to keep", got.Task)
	}
	if got := e.AttemptOn("another", nil); got != nil {
		t.Errorf("found %s for another video", got.Task)
	}
	e.SetTask(a, queue.Task{Kind: queue.Encode, Video: "another"})
	if got := e.AttemptOn(someVideo, nil); got != nil {
		t.Errorf("found %s, which is now that of another video", got.Task)
	}
	if got := e.AttemptOn("another", nil); got != a {
		t.Errorf("the attempt on the other video is %v, want %v", got, a)
	}
}

// So many tasks of spare time make way as others are due, not as many again at each look.
func TestYieldSpareCountsWhatIsBeingInterrupted(t *testing.T) {
	t.Parallel()
	e := newExecutor()
	spare := func(n int) queue.Task { return queue.Task{Kind: queue.AV1, Number: n, Priority: queue.Spare} }
	older, ordinary, younger := e.Begin(t.Context(), 1, spare(0)), e.Begin(t.Context(), 2, encode(0)), e.Begin(t.Context(), 3, spare(1))
	wantStopped := func(when string, want ...bool) {
		t.Helper()
		for i, a := range []*Attempt{older, ordinary, younger} {
			if got := a.ctx.Err() != nil; got != want[i] {
				t.Errorf("%s: attempt %d was interrupted: %t", when, a.ID, got)
			}
		}
	}
	if n := e.YieldSpare(1); n != 1 || e.Spare() != 2 {
		t.Errorf("%d were interrupted of %d; want 1 of 2", n, e.Spare())
	}
	wantStopped("for one task", false, false, true)
	e.YieldSpare(1)
	wantStopped("for the same task", false, false, true)
	e.YieldSpare(3)
	wantStopped("for more tasks", true, false, true)
}
