package executor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
)

// Attempt is one task in the hands of a handler.
type Attempt struct {
	ID   int64      // of the row that holds the task
	Task queue.Task // owned by the goroutine that executes the attempt; changed only by SetTask

	base     context.Context // has the values of the handler's context, and never ends
	ctx      context.Context // of the handler
	cancel   context.CancelCauseFunc
	order    int // among all attempts here, in the order of beginning
	began    time.Time
	yields   bool          // it was interrupted for another tenant; guarded by Executor.mu
	returned bool          // the handler has returned; guarded by Executor.mu
	ended    chan struct{} // closed when the result is recorded
}

// Begin registers an attempt, so that Cancel, AttemptOn and Stop find it. Execute
// must follow. The handler's context has the values of ctx, but only Cancel and
// Stop end it. If the queue is stopping, it has ended already.
func (e *Executor) Begin(ctx context.Context, id int64, t queue.Task) *Attempt {
	a := &Attempt{ID: id, Task: t, base: context.WithoutCancel(ctx), began: time.Now(), ended: make(chan struct{})}
	a.ctx, a.cancel = context.WithCancelCause(a.base)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.begun++
	a.order = e.begun
	e.attempts[id] = a
	if e.phase == stopped {
		a.cancel(queue.ErrStopping)
	}
	return a
}

// Cancel ends an attempt whose result nobody wants.
func (a *Attempt) Cancel() { a.cancel(queue.ErrCancelled) }

// Ended returns the channel that is closed when the handler has returned and the
// result is recorded.
func (a *Attempt) Ended() <-chan struct{} { return a.ended }

// errYield ends an attempt for another tenant's sake. To a handler it looks like a stop.
var errYield = fmt.Errorf("another tenant waits: %w", queue.ErrStopping)

// Yield interrupts the attempt with this id, if it runs here: its result is Stopped.
func (e *Executor) Yield(id int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if a, ok := e.attempts[id]; ok {
		a.yields = true
		a.cancel(errYield)
	}
}

// Spare counts the attempts of tasks of spare time.
func (e *Executor) Spare() (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, a := range e.attempts {
		if a.inSpareTime() {
			n++
		}
	}
	return n
}

// YieldSpare interrupts the youngest n attempts of tasks of spare time, and returns how many that are.
// Attempts that are just being interrupted count.
func (e *Executor) YieldSpare(n int) (interrupted int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	youngest := slices.SortedFunc(maps.Values(e.attempts), func(a, b *Attempt) int { return cmp.Compare(b.order, a.order) })
	for _, a := range youngest {
		if a.yields {
			n--
		}
	}
	for _, a := range youngest {
		if interrupted < n && a.inSpareTime() && !a.yields && !a.returned {
			a.yields = true
			a.cancel(errYield)
			interrupted++
		}
	}
	return interrupted
}

// Youngest returns the id of the youngest attempt of the tenant that runs most tasks here, if these are
// at least two. It leaves out attempts that spare refuses. It reports false as well while an attempt is
// just being interrupted.
func (e *Executor) Youngest(spare func(id int64) bool) (id int64, found bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	running := map[video.Tenant]int{}
	for _, a := range e.attempts {
		if a.yields {
			return 0, false
		}
		running[a.Task.Tenant]++
	}
	var best *Attempt
	for _, a := range e.attempts {
		n := running[a.Task.Tenant]
		if n < 2 || spare(a.ID) {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(n, running[best.Task.Tenant]), cmp.Compare(a.order, best.order)) > 0 {
			best = a
		}
	}
	if best == nil {
		return 0, false
	}
	return best.ID, true
}

func (a *Attempt) inSpareTime() bool { return a.Task.Priority >= queue.Spare }

// SetTask replaces the task of an attempt. Only the goroutine that executes the
// attempt may call it.
func (e *Executor) SetTask(a *Attempt, t queue.Task) {
	e.mu.Lock()
	defer e.mu.Unlock()
	a.Task = t
}

// Cancel ends the attempts with these ids. It ignores ids that do not run here.
func (e *Executor) Cancel(ids []int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range ids {
		if a, ok := e.attempts[id]; ok {
			a.Cancel()
		}
	}
}

// AttemptOn returns any attempt on a task of the video that runs here and is not
// of a kind in keep, or nil.
func (e *Executor) AttemptOn(id video.ID, keep []queue.Kind) *Attempt {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, a := range e.attempts {
		if a.Task.Video == id && !slices.Contains(keep, a.Task.Kind) {
			return a
		}
	}
	return nil
}

// Tasks returns the tasks that run here.
func (e *Executor) Tasks() []queue.Task {
	e.mu.Lock()
	defer e.mu.Unlock()
	tasks := make([]queue.Task, 0, len(e.attempts))
	for _, a := range e.attempts {
		tasks = append(tasks, a.Task)
	}
	return tasks
}

// Running returns the tasks that run here, the oldest first.
func (e *Executor) Running() []queue.RunningTask {
	e.mu.Lock()
	defer e.mu.Unlock()
	byAge := slices.SortedFunc(maps.Values(e.attempts), func(a, b *Attempt) int { return cmp.Compare(a.order, b.order) })
	var running []queue.RunningTask
	for _, a := range byAge {
		running = append(running, queue.RunningTask{Task: a.Task, For: time.Since(a.began)})
	}
	return running
}

// IDs returns the ids of all attempts here. It is never nil.
func (e *Executor) IDs() []int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.AppendSeq([]int64{}, maps.Keys(e.attempts))
}

// HandlerIDs returns the ids of the attempts whose handlers have not returned.
func (e *Executor) HandlerIDs() []int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	var ids []int64
	for id, a := range e.attempts {
		if !a.returned {
			ids = append(ids, id)
		}
	}
	return ids
}
