package life

import (
	"context"
	"maps"
	"slices"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
)

// Run is one task in the hands of a handler.
type Run struct {
	ID   int64      // of the row that holds the task
	Task queue.Task // belongs to who works on the run; changed by Rename alone

	base   context.Context // has the values of the handler's, and never ends
	ctx    context.Context // of the handler
	cancel context.CancelCauseFunc
	ending bool          // the handler has returned; guarded by Life.mu
	ended  chan struct{} // closed when that is recorded
}

// Begin makes a task known that is to be run, so that Cancel, RunOf and Stop find
// it; Work must follow. The handler's context has the values of ctx, and ends by
// Cancel and Stop alone. If the queue is stopping it has ended already.
func (l *Life) Begin(ctx context.Context, id int64, t queue.Task) *Run {
	r := &Run{ID: id, Task: t, base: context.WithoutCancel(ctx), ended: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancelCause(r.base)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs[id] = r
	if l.phase == stopped {
		r.cancel(queue.ErrStopping)
	}
	return r
}

// Cancel ends a run whose result nobody wants.
func (r *Run) Cancel() { r.cancel(queue.ErrCancelled) }

// Ended returns the channel that is closed when the handler has returned and
// that is recorded.
func (r *Run) Ended() <-chan struct{} { return r.ended }

// Rename notes that a run is that of another task. Only who works on the run may
// call it.
func (l *Life) Rename(r *Run, t queue.Task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Task = t
}

// Cancel ends those of the runs that are here.
func (l *Life) Cancel(ids []int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		if r, ok := l.runs[id]; ok {
			r.Cancel()
		}
	}
}

// RunOf returns any task of the video that runs here and is not of a kind in
// keep, or nil.
func (l *Life) RunOf(id video.ID, keep []queue.Kind) *Run {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.runs {
		if r.Task.Video == id && !slices.Contains(keep, r.Task.Kind) {
			return r
		}
	}
	return nil
}

// Tasks returns what runs here.
func (l *Life) Tasks() []queue.Task {
	l.mu.Lock()
	defer l.mu.Unlock()
	tasks := make([]queue.Task, 0, len(l.runs))
	for _, r := range l.runs {
		tasks = append(tasks, r.Task)
	}
	return tasks
}

// IDs returns the ids of all runs here. It is never nil.
func (l *Life) IDs() []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.AppendSeq([]int64{}, maps.Keys(l.runs))
}

// Working returns the ids of the runs whose handlers have not returned.
func (l *Life) Working() []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ids []int64
	for id, r := range l.runs {
		if !r.ending {
			ids = append(ids, id)
		}
	}
	return ids
}
