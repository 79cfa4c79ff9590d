package executor

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
)

// maxRecordPause is the longest pause between two tries to record a result.
const maxRecordPause = 2 * time.Second

// Result is what the end of an attempt means for its task.
type Result int

const (
	Done      Result = iota // the task is over
	Cancelled               // nobody wants its result any more
	Stopped                 // it runs again, first of all, and this attempt does not count
	Failed                  // it runs again after a pause
)

// Finish decides, once for each attempt, what is recorded, and returns the write
// that does so. The write is repeated while it fails. pause is set after Failed.
type Finish func(a *Attempt, r Result, pause time.Duration) (write func(context.Context) error)

// Execute calls the handler with the task of a, and records what finish makes of
// the result. If the database refuses the write, it tries again: meanwhile the
// task stays claimed, so nobody runs it a second time. It gives up when Stop has
// given up waiting. It returns the handler's error.
func (e *Executor) Execute(a *Attempt, h queue.Handler, finish Finish) error {
	defer a.cancel(nil)
	err := Recover(func() error {
		if a.ctx.Err() != nil { // it was stopped before it began
			return context.Cause(a.ctx)
		}
		return h(a.ctx, a.Task)
	})
	r := result(err, context.Cause(a.ctx))
	e.setReturned(a)
	var pause time.Duration
	if r == Failed {
		pause = e.retryPause(a.Task.Attempt)
		e.logFailure(a, err, pause)
	}
	e.record(a, finish(a, r, pause))
	e.remove(a)
	return err
}

// Recover calls f and turns a panic into an error. Whatever a queue runs in a
// goroutine of its own goes through it: one bad file, or a mistake in one loop,
// must not end the process with all its other tasks and requests.
func Recover(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{value: p, stack: debug.Stack()}
		}
	}()
	return f()
}

// panicError is a recovered panic.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// LogAttrs returns what to log about an error of Recover: the error, and the stack
// of a panic.
func LogAttrs(err error) []any {
	if p, ok := errors.AsType[*panicError](err); ok {
		return []any{"err", err, "stack", string(p.stack)}
	}
	return []any{"err", err}
}

// result judges an attempt by the handler's error and the cause of its context's
// end. If the handler was told to stop, its error does not count.
func result(err, cause error) Result {
	switch {
	case errors.Is(cause, queue.ErrCancelled):
		return Cancelled
	case errors.Is(cause, queue.ErrStopping):
		return Stopped
	case err == nil:
		return Done
	default:
		return Failed
	}
}

// retryPause is the backoff after a failed attempt, ±20 %, so that tasks which
// failed together are not all retried together.
func (e *Executor) retryPause(attempt int) time.Duration {
	return time.Duration(float64(queue.Backoff(attempt)) * (0.8 + 0.4*e.random()))
}

func (e *Executor) logFailure(a *Attempt, err error, pause time.Duration) {
	attrs := append(LogAttrs(err), "task", a.Task.String(), "attempt", a.Task.Attempt, "pause", pause)
	e.log.WarnContext(a.base, "a task failed and will run again", attrs...)
}

func (e *Executor) record(a *Attempt, write func(context.Context) error) {
	for failures := 1; ; failures++ {
		err := write(a.base)
		if err == nil {
			return
		}
		pause := min(queue.Backoff(failures), maxRecordPause)
		e.log.ErrorContext(a.base, "the result of a task cannot be recorded",
			"task", a.Task.String(), "err", err, "failures", failures, "pause", pause)
		select {
		case <-time.After(pause):
		case <-e.abandoned:
			return
		}
	}
}

// setReturned takes a out of HandlerIDs.
func (e *Executor) setReturned(a *Attempt) {
	e.mu.Lock()
	defer e.mu.Unlock()
	a.returned = true
}

// remove forgets an attempt whose result is recorded.
func (e *Executor) remove(a *Attempt) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.attempts, a.ID)
	close(a.ended)
}
