// Package attempts is the part that all queues share: it keeps the list of tasks that
// this process runs, ends them, and calls their handlers. It owns no rows. A queue
// decides where tasks come from and what is written when one ends.
package attempts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/panics"
	"github.com/spool-video/spool/internal/video"
)

// ErrYield ends the attempt at a task whose place others need. To its handler it looks like a stop.
var ErrYield = fmt.Errorf("other tasks wait: %w", queue.ErrStopping)

// List is the list of the attempts of this process. Its zero value is empty.
type List struct {
	mu    sync.Mutex
	begun int // attempts so far
	all   map[int64]*Attempt
}

// Attempt is one task in the hands of a handler.
type Attempt struct {
	Row  int64 // that holds the task
	Task queue.Task

	ctx       context.Context // of the handler
	cancel    context.CancelCauseFunc
	order     int // among all attempts, in the order of beginning
	began     time.Time
	completed atomic.Bool
	ended     chan struct{}
}

type contextKey struct{}

// FromContext returns the attempt whose handler got ctx, or nil.
func FromContext(ctx context.Context) *Attempt {
	a, _ := ctx.Value(contextKey{}).(*Attempt)
	return a
}

// Begin adds an attempt; End must follow. The handler's context has the values of ctx, but only Cancel ends it.
func (l *List) Begin(ctx context.Context, row int64, t queue.Task) *Attempt {
	a := &Attempt{Row: row, Task: t, began: time.Now(), ended: make(chan struct{})}
	a.ctx, a.cancel = context.WithCancelCause(context.WithValue(context.WithoutCancel(ctx), contextKey{}, a))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[int64]*Attempt{}
	}
	l.begun++
	a.order = l.begun
	l.all[row] = a
	return a
}

// End removes an attempt whose result is recorded.
func (l *List) End(a *Attempt) {
	a.cancel(nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, a.Row)
	close(a.ended)
}

// Cancel ends the contexts of the attempts at these rows that are in the list.
func (l *List) Cancel(cause error, rows ...int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, row := range rows {
		if a, ok := l.all[row]; ok {
			a.cancel(cause)
		}
	}
}

// All returns the attempts, the oldest first.
func (l *List) All() []*Attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.SortedFunc(maps.Values(l.all), func(a, b *Attempt) int { return cmp.Compare(a.order, b.order) })
}

// Rows returns the rows of all attempts. It is never nil.
func (l *List) Rows() []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.AppendSeq([]int64{}, maps.Keys(l.all))
}

// Running describes the attempts on a lane, the oldest first.
func (l *List) Running(lane queue.Lane) []queue.RunningTask {
	var running []queue.RunningTask
	for _, a := range l.All() {
		if a.Task.Kind.Lane() == lane {
			running = append(running, queue.RunningTask{Task: a.Task, For: time.Since(a.began)})
		}
	}
	return running
}

// On returns any attempt on a task of the video that is not of a kind in keep, or nil.
func (l *List) On(id video.ID, keep []queue.Kind) *Attempt {
	for _, a := range l.All() {
		if a.Task.Video == id && !slices.Contains(keep, a.Task.Kind) {
			return a
		}
	}
	return nil
}

// Cancel ends the context of the handler.
func (a *Attempt) Cancel(cause error) { a.cancel(cause) }

// Cause returns why the context of the handler has ended; nil: it has not.
func (a *Attempt) Cause() error { return context.Cause(a.ctx) }

// Ended returns the channel that End closes.
func (a *Attempt) Ended() <-chan struct{} { return a.ended }

// Complete says that the task was completed in a transaction, which has committed.
func (a *Attempt) Complete() { a.completed.Store(true) }

// Completed reports whether Complete was called.
func (a *Attempt) Completed() bool { return a.completed.Load() }

// Run calls the handler, unless the attempt was cancelled before. It returns a panic as an error: one bad
// file must not end the process with all its other tasks and requests.
func (a *Attempt) Run(h queue.Handler) error {
	return panics.Catch(func() error {
		if err := a.Cause(); err != nil {
			return err
		}
		return h(a.ctx, a.Task)
	})
}

// Pause returns the pause before the next attempt after this one failed. Without another wish it is the
// backoff ±20 %, so that tasks that failed together are not all retried together.
func (a *Attempt) Pause(err error) time.Duration {
	if pause, asked := queue.PauseOf(err); asked {
		return pause
	}
	return time.Duration(float64(queue.Backoff(a.Task.Attempt)) * (0.8 + 0.4*rand.Float64()))
}

// CheckStart returns an error if a queue cannot start to work on these lanes.
func CheckStart(lanes map[queue.Lane]queue.Pool, stopping, started bool) error {
	for lane, pool := range lanes {
		if pool.Places < 1 {
			return fmt.Errorf("start the queue: %d places on lane %s, want at least 1", pool.Places, lane)
		}
	}
	switch {
	case stopping:
		return fmt.Errorf("start the queue: %w", queue.ErrStopping)
	case started:
		return errors.New("start the queue: it was started before")
	}
	return nil
}

// LogAttrs returns what to log about an error: the error, and the stack of a panic.
func LogAttrs(err error) []any {
	if p, ok := errors.AsType[*panics.Error](err); ok {
		return []any{"err", err, "stack", string(p.Stack)}
	}
	return []any{"err", err}
}

// Host names this machine for the operator who lists the workers.
func Host() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		return "unknown"
	}
	return host[:min(len(host), 60)]
}
