package life

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
)

// longestPause is how long a database that refuses to record an end is left
// alone, at most.
const longestPause = 2 * time.Second

// Outcome is what the end of a run means for its task.
type Outcome int

const (
	Done      Outcome = iota // the task is over
	Cancelled                // nobody wants its result any more
	Stopped                  // it runs again, first of all, and this was no attempt
	Failed                   // it runs again after a pause
)

// End decides, once for each run, what is to be recorded, and returns the write
// that does so. The write is repeated while it fails. pause is set after Failed.
type End func(r *Run, o Outcome, pause time.Duration) (write func(context.Context) error)

// Work has the handler do the task of r, and records what end makes of it. While
// the database refuses, it tries again: the task keeps its place, and nobody
// runs it a second time meanwhile. It gives up when Stop has given up waiting.
// It returns the handler's error.
func (l *Life) Work(r *Run, h queue.Handler, end End) error {
	defer r.cancel(nil)
	err := attempt(r.ctx, r.Task, h)
	o := outcome(err, context.Cause(r.ctx))
	l.setEnding(r)
	var pause time.Duration
	if o == Failed {
		pause = l.pause(r.Task.Attempt)
		l.logFailure(r, err, pause)
	}
	l.record(r, end(r, o, pause))
	l.forget(r)
	return err
}

// attempt calls the handler, unless the task was stopped before it began. A
// panic is an error like any other: one bad file must not end the process.
func attempt(ctx context.Context, t queue.Task, h queue.Handler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{value: p, stack: debug.Stack()}
		}
	}()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return h(ctx, t)
}

// panicError is what a handler panicked with.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// outcome judges a run by the handler's error and the cause of its context's
// end. What a handler returns that was told to stop does not count.
func outcome(err, cause error) Outcome {
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

// pause is the backoff after a failed attempt, ±20 %, so that tasks which failed
// together do not all come back together.
func (l *Life) pause(attempt int) time.Duration {
	return time.Duration(float64(queue.Backoff(attempt)) * (0.8 + 0.4*l.random()))
}

func (l *Life) logFailure(r *Run, err error, pause time.Duration) {
	attrs := []any{"task", r.Task.String(), "attempt", r.Task.Attempt, "err", err, "pause", pause}
	if p, ok := errors.AsType[*panicError](err); ok {
		attrs = append(attrs, "stack", string(p.stack))
	}
	l.log.WarnContext(r.base, "a task failed and will run again", attrs...)
}

func (l *Life) record(r *Run, write func(context.Context) error) {
	for failures := 1; ; failures++ {
		err := write(r.base)
		if err == nil {
			return
		}
		pause := min(queue.Backoff(failures), longestPause)
		l.log.ErrorContext(r.base, "the end of a task cannot be recorded",
			"task", r.Task.String(), "err", err, "failures", failures, "pause", pause)
		select {
		case <-time.After(pause):
		case <-l.forsaken:
			return
		}
	}
}

// setEnding takes r out of Working.
func (l *Life) setEnding(r *Run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.ending = true
}

// forget takes r out of the runs.
func (l *Life) forget(r *Run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.runs, r.ID)
	close(r.ended)
}
