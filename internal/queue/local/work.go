package local

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/spool-video/spool/internal/queue"
)

// poll is how long the dispatcher sleeps at most. The bell and the next run_at
// wake it in time; this is for the case that a clock was set or a bell missed.
const poll = 2 * time.Second

// phase is where a queue stands in its life.
type phase int

const (
	fresh    phase = iota // may be started
	starting              // Start is looking at the tasks of the last process
	started               // tasks are run
	stopped               // for good
)

// run is one task in the hands of a handler.
type run struct {
	id     int64
	task   queue.Task
	cancel context.CancelCauseFunc
	ended  chan struct{} // closed when the handler has returned and that is recorded
}

// Start implements queue.Queue. ctx bounds the start alone and lends the
// handlers its values; only Stop ends the work.
func (q *Queue) Start(ctx context.Context, n int, h queue.Handler) error {
	if n < 1 {
		return fmt.Errorf("start the queue: %d tasks at a time, want at least 1", n)
	}
	if err := q.enter(fresh, starting); err != nil {
		return fmt.Errorf("start the queue: %w", err)
	}
	if err := q.setBackLost(ctx); err != nil {
		_ = q.enter(starting, fresh) // a Stop meanwhile is as good
		return fmt.Errorf("start the queue: %w", err)
	}

	q.mu.Lock()
	defer q.mu.Unlock()
	if q.phase == stopped {
		return fmt.Errorf("start the queue: %w", queue.ErrStopping)
	}
	q.phase = started
	q.finished = make(chan struct{})
	go q.dispatch(context.WithoutCancel(ctx), n, h)
	return nil
}

// enter takes the queue from one phase into another.
func (q *Queue) enter(from, to phase) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch q.phase {
	case from:
		q.phase = to
		return nil
	case stopped:
		return queue.ErrStopping
	default:
		return errors.New("it was started before")
	}
}

// Stop implements queue.Queue. A task whose return to the queue could not be
// written when ctx ends is found by the next process's Start.
func (q *Queue) Stop(ctx context.Context) error {
	finished := q.beginStop()
	if finished == nil {
		return nil
	}
	select {
	case <-finished:
		return nil
	case <-ctx.Done():
		q.forsake()
		return fmt.Errorf("wait for running tasks to stop: %w", ctx.Err())
	}
}

// beginStop tells everyone to stop and returns the channel that is closed when
// they have; nil if nothing was ever started.
func (q *Queue) beginStop() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.phase != stopped {
		q.phase = stopped
		close(q.stopping)
		for _, r := range q.runs {
			r.cancel(queue.ErrStopping)
		}
	}
	return q.finished
}

// forsake lets runs that cannot record their end leave it unrecorded.
func (q *Queue) forsake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.gaveUp {
		q.gaveUp = true
		close(q.forsaken)
	}
}

// dispatch claims tasks and starts a goroutine for each until the queue stops.
// It is the only one that claims: between two claims every running row of the
// table is in q.runs.
func (q *Queue) dispatch(ctx context.Context, n int, h queue.Handler) {
	defer close(q.finished)
	defer q.workers.Wait()

	for failures := 0; !q.isStopping(); {
		pause, err := q.round(ctx, n, h, failures > 0)
		if err == nil {
			failures = 0
			q.sleep(pause, q.bell)
			continue
		}
		failures++
		pause = queue.Backoff(failures)
		q.log.ErrorContext(ctx, "tasks cannot be claimed", "err", err, "failures", failures, "pause", pause)
		q.sleep(pause, nil) // the bell would make this a busy loop
	}
}

// round fills the free places and returns how long it makes sense to sleep
// then. A claim that failed may have been written all the same, so after an
// error it first sets back what nobody runs.
func (q *Queue) round(ctx context.Context, n int, h queue.Handler, afterError bool) (time.Duration, error) {
	if afterError {
		if err := q.setBackLost(ctx); err != nil {
			return 0, err
		}
	}
	return q.fill(ctx, n, h)
}

func (q *Queue) isStopping() bool {
	select {
	case <-q.stopping:
		return true
	default:
		return false
	}
}

// sleep waits for d, the bell or Stop, whichever comes first.
func (q *Queue) sleep(d time.Duration, bell <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-bell:
	case <-q.stopping:
	}
}

// fill claims tasks while there is room for more.
func (q *Queue) fill(ctx context.Context, n int, h queue.Handler) (time.Duration, error) {
	for !q.isStopping() {
		busy := q.names()
		if len(busy) >= n {
			return poll, nil
		}
		now := q.now()
		c, found, err := q.claim(ctx, now, busy)
		if err != nil {
			return 0, err
		}
		if !found {
			return q.untilDue(ctx, now)
		}
		q.begin(ctx, c, h)
	}
	return 0, nil
}

// begin hands a claimed task to the handler.
func (q *Queue) begin(ctx context.Context, c claimed, h queue.Handler) {
	runCtx, cancel := context.WithCancelCause(ctx)
	r := &run{id: c.id, task: c.task, cancel: cancel, ended: make(chan struct{})}
	q.register(r)
	q.workers.Go(func() {
		defer cancel(nil)
		err := attempt(runCtx, r.task, h)
		q.record(ctx, r, err, context.Cause(runCtx))
		q.unregister(r)
		q.ring() // there is room, and the same name may have waited for this end
	})
}

// register makes r known, so that Cancel, Quiet and Stop find it. What they did
// between the claim and now is made up for here: r's context ends before its
// handler is called. Whatever else is in doomed has ended already.
func (q *Queue) register(r *run) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.runs[r.id] = r
	if _, ok := q.doomed[r.id]; ok {
		r.cancel(queue.ErrCancelled)
	}
	clear(q.doomed)
	if q.phase == stopped {
		r.cancel(queue.ErrStopping)
	}
}

func (q *Queue) unregister(r *run) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.runs, r.id)
	close(r.ended)
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

// record writes how a run ended. While the database refuses, it tries again:
// the task keeps its worker, and nobody runs it a second time meanwhile.
func (q *Queue) record(ctx context.Context, r *run, err, cause error) {
	write := q.verdict(ctx, r, err, cause)
	for failures := 1; ; failures++ {
		err := write(ctx)
		if err == nil {
			return
		}
		pause := min(queue.Backoff(failures), poll)
		q.log.ErrorContext(ctx, "the end of a task cannot be recorded",
			"task", r.task.String(), "err", err, "failures", failures, "pause", pause)
		select {
		case <-time.After(pause):
		case <-q.forsaken:
			return
		}
	}
}

// verdict decides what the end of a run means for its row, and returns the
// write that makes it so.
func (q *Queue) verdict(ctx context.Context, r *run, err, cause error) func(context.Context) error {
	switch {
	case errors.Is(cause, queue.ErrCancelled):
		return func(context.Context) error { return nil } // Cancel has removed the row
	case errors.Is(cause, queue.ErrStopping):
		// A stop is not the task's fault, so it does not count as an attempt.
		return func(ctx context.Context) error { return q.handBack(ctx, r) }
	case err == nil:
		return func(ctx context.Context) error { return q.remove(ctx, r) }
	}
	pause := q.pause(r.task.Attempt)
	attrs := []any{"task", r.task.String(), "attempt", r.task.Attempt, "err", err, "pause", pause}
	if p, ok := errors.AsType[*panicError](err); ok {
		attrs = append(attrs, "stack", string(p.stack))
	}
	q.log.WarnContext(ctx, "a task failed and will run again", attrs...)
	due := q.now().Add(pause)
	return func(ctx context.Context) error { return q.putOff(ctx, r, due) }
}

// pause is the backoff after a failed attempt, ±20 %, so that tasks which failed
// together do not all come back together.
func (q *Queue) pause(attempt int) time.Duration {
	return time.Duration(float64(queue.Backoff(attempt)) * (0.8 + 0.4*q.random()))
}
