// Package life is what every queue does in the process that runs its tasks,
// whatever database they are in: it is started once and stopped once, knows
// which tasks run here and ends them, and sees to it that the end of each is
// recorded. It owns no rows. Where tasks come from, and what is written when
// one ends, is told by the queue that holds a Life.
package life

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/spool-video/spool/internal/backend/queue"
)

// phase is where a queue stands in its life.
type phase int

const (
	fresh    phase = iota // may be started
	starting              // Start is speaking with the database
	started               // tasks are run
	stopped               // for good
)

// Life is that of one queue, and of what it runs.
type Life struct {
	log    *slog.Logger
	random func() float64 // in [0, 1)

	stopping chan struct{} // closed by the first Stop
	forsaken chan struct{} // closed when a Stop gave up waiting

	mu       sync.Mutex // never held while the database is asked
	phase    phase
	finished <-chan struct{} // closed when nothing runs any more; nil until started
	gaveUp   bool            // forsaken is closed
	runs     map[int64]*Run  // by their ids
}

// New returns the life of a queue that may be started. random is in [0, 1); it
// spreads the pauses of tasks that failed together.
func New(log *slog.Logger, random func() float64) *Life {
	return &Life{
		log:      log,
		random:   random,
		stopping: make(chan struct{}),
		forsaken: make(chan struct{}),
		runs:     map[int64]*Run{},
	}
}

// Start begins to run at most n tasks at a time. It calls prepare and then, in
// the background, the function that prepare has returned: that one takes tasks
// until Stopping is closed, and returns when nothing runs any more. It is called
// also when a Stop came meanwhile, to undo what prepare has begun. After an
// error of prepare the queue may be started again.
func (l *Life) Start(n int, prepare func() (work func(), err error)) error {
	if n < 1 {
		return fmt.Errorf("start the queue: %d tasks at a time, want at least 1", n)
	}
	if err := l.enter(fresh, starting); err != nil {
		return fmt.Errorf("start the queue: %w", err)
	}
	work, err := prepare()
	if err != nil {
		_ = l.enter(starting, fresh) // a Stop meanwhile is as good
		return fmt.Errorf("start the queue: %w", err)
	}

	l.mu.Lock() // who works finds the queue started or stopped, and nothing between
	defer l.mu.Unlock()
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		work()
	}()
	if l.phase == stopped {
		return fmt.Errorf("start the queue: %w", queue.ErrStopping)
	}
	l.phase, l.finished = started, finished
	return nil
}

// enter takes the queue from one phase into another.
func (l *Life) enter(from, to phase) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.phase {
	case from:
		l.phase = to
		return nil
	case stopped:
		return queue.ErrStopping
	default:
		return errors.New("it was started before")
	}
}

// Stop is that of queue.Queue. When ctx ends before all is recorded, what cannot
// be recorded is left as it is.
func (l *Life) Stop(ctx context.Context) error {
	finished := l.beginStop()
	if finished == nil {
		return nil
	}
	select {
	case <-finished:
		return nil
	case <-ctx.Done():
		l.forsake()
		return fmt.Errorf("wait for running tasks to stop: %w", ctx.Err())
	}
}

// beginStop tells everyone to stop and returns the channel that is closed when
// they have; nil if nothing was ever started.
func (l *Life) beginStop() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase != stopped {
		l.phase = stopped
		close(l.stopping)
		for _, r := range l.runs {
			r.cancel(queue.ErrStopping)
		}
	}
	return l.finished
}

// forsake lets runs that cannot record their end leave it unrecorded.
func (l *Life) forsake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.gaveUp {
		l.gaveUp = true
		close(l.forsaken)
	}
}

// Stopping returns the channel that is closed by the first Stop.
func (l *Life) Stopping() <-chan struct{} { return l.stopping }

// IsStopping reports whether Stop was called.
func (l *Life) IsStopping() bool {
	select {
	case <-l.stopping:
		return true
	default:
		return false
	}
}
