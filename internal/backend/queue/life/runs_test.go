package life

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
)

// A run is known from Begin until its end is recorded, and at work until its
// handler returns.
func TestWhatIsKnownOfARun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		if ids := l.IDs(); ids == nil || len(ids) != 0 {
			t.Errorf("ids of nothing are %#v, want an empty list", ids)
		}
		r := l.Begin(t.Context(), 7, encode(3))
		returns, recorded := make(chan struct{}), make(chan struct{})
		go func() {
			_ = l.Work(r, func(context.Context, queue.Task) error { <-returns; return nil },
				func(*Run, Outcome, time.Duration) func(context.Context) error {
					return func(context.Context) error { <-recorded; return nil }
				})
		}()
		synctest.Wait()
		l.knows(t, "while the handler works", []int64{7}, []int64{7}, []queue.Task{encode(3)})
		close(returns)
		synctest.Wait()
		l.knows(t, "while its end is recorded", []int64{7}, nil, []queue.Task{encode(3)})
		select {
		case <-r.Ended():
			t.Error("the run has ended before that was recorded")
		default:
		}
		close(recorded)
		<-r.Ended()
		l.knows(t, "after its end", []int64{}, nil, nil)
	})
}

func (l *Life) knows(t *testing.T, when string, ids, working []int64, tasks []queue.Task) {
	t.Helper()
	if got := l.IDs(); !slices.Equal(got, ids) {
		t.Errorf("%s the ids are %v, want %v", when, got, ids)
	}
	if got := l.Working(); !slices.Equal(got, working) {
		t.Errorf("%s %v are at work, want %v", when, got, working)
	}
	if got := l.Tasks(); !slices.Equal(got, tasks) {
		t.Errorf("%s the tasks are %v, want %v", when, got, tasks)
	}
}

func TestRunOf(t *testing.T) {
	t.Parallel()
	l := newLife()
	r := l.Begin(t.Context(), 7, encode(0))
	if got := l.RunOf(film, nil); got != r {
		t.Errorf("the run of the film is %v, want %v", got, r)
	}
	if got := l.RunOf(film, []queue.Kind{queue.Purge, queue.Encode}); got != nil {
		t.Errorf("found %s, which is of a kind to keep", got.Task)
	}
	if got := l.RunOf("another", nil); got != nil {
		t.Errorf("found %s for another video", got.Task)
	}
	l.Rename(r, queue.Task{Kind: queue.Encode, Video: "another"})
	if got := l.RunOf(film, nil); got != nil {
		t.Errorf("found %s, which is now that of another video", got.Task)
	}
	if got := l.RunOf("another", nil); got != r {
		t.Errorf("the run of the other video is %v, want %v", got, r)
	}
}
