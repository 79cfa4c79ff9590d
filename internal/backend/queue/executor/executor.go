// Package executor is the part that all queues share: it runs the tasks of one
// process, whatever database they are stored in. It starts once and stops once,
// knows which tasks run in this process, ends them, and makes sure that the
// result of each attempt is recorded. It owns no rows. The queue that holds an
// Executor decides where tasks come from and what is written when one ends.
package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/spool-video/spool/internal/backend/queue"
)

// phase is the state of an executor.
type phase int

const (
	fresh    phase = iota // may be started
	starting              // Start is talking to the database
	started               // tasks are run
	stopped               // final
)

// Executor runs the tasks of one queue in this process.
type Executor struct {
	log    *slog.Logger
	random func() float64 // in [0, 1)

	stopping  chan struct{} // closed by the first Stop
	abandoned chan struct{} // closed when a Stop gave up waiting

	mu       sync.Mutex // never held during a database call
	phase    phase
	finished <-chan struct{} // closed when nothing runs any more; nil until started
	gaveUp   bool            // abandoned is closed
	attempts map[int64]*Attempt
	begun    int // attempts so far
}

// New returns an executor that may be started. random returns a number in [0, 1).
// It spreads the retries of tasks that failed together.
func New(log *slog.Logger, random func() float64) *Executor {
	return &Executor{
		log:       log,
		random:    random,
		stopping:  make(chan struct{}),
		abandoned: make(chan struct{}),
		attempts:  map[int64]*Attempt{},
	}
}

// Start begins to run at most n tasks at a time. It calls prepare and then, in the
// background, the function that prepare returned. That function takes tasks until
// Stopping is closed, and returns when nothing runs any more. It is also called
// if Stop was called meanwhile, to undo what prepare has begun. If prepare fails,
// Start may be called again.
func (e *Executor) Start(n int, prepare func() (work func(), err error)) error {
	if n < 1 {
		return fmt.Errorf("start the queue: %d tasks at a time, want at least 1", n)
	}
	if err := e.transition(fresh, starting); err != nil {
		return fmt.Errorf("start the queue: %w", err)
	}
	work, err := prepare()
	if err != nil {
		_ = e.transition(starting, fresh) // fails only if Stop was called, which is final
		return fmt.Errorf("start the queue: %w", err)
	}

	e.mu.Lock() // work must find the queue either started or stopped
	defer e.mu.Unlock()
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		work()
	}()
	if e.phase == stopped {
		return fmt.Errorf("start the queue: %w", queue.ErrStopping)
	}
	e.phase, e.finished = started, finished
	return nil
}

// transition moves the executor from one phase to another.
func (e *Executor) transition(from, to phase) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch e.phase {
	case from:
		e.phase = to
		return nil
	case stopped:
		return queue.ErrStopping
	default:
		return errors.New("it was started before")
	}
}

// Stop implements queue.Queue. If ctx ends before every result is recorded,
// the remaining results are abandoned.
func (e *Executor) Stop(ctx context.Context) error {
	finished := e.beginStop()
	if finished == nil {
		return nil
	}
	select {
	case <-finished:
		return nil
	case <-ctx.Done():
		e.abandon()
		return fmt.Errorf("wait for running tasks to stop: %w", ctx.Err())
	}
}

// beginStop tells every attempt to stop. It returns the channel that is closed
// when they have; nil if nothing was ever started.
func (e *Executor) beginStop() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.phase != stopped {
		e.phase = stopped
		close(e.stopping)
		for _, a := range e.attempts {
			a.cancel(queue.ErrStopping)
		}
	}
	return e.finished
}

// abandon ends the retries of attempts that cannot record their result.
func (e *Executor) abandon() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.gaveUp {
		e.gaveUp = true
		close(e.abandoned)
	}
}

// Stopping returns the channel that is closed by the first Stop.
func (e *Executor) Stopping() <-chan struct{} { return e.stopping }

// IsStopping reports whether Stop was called.
func (e *Executor) IsStopping() bool {
	select {
	case <-e.stopping:
		return true
	default:
		return false
	}
}
