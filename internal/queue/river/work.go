package river

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/spool-video/spool/internal/queue"
)

const (
	// cooldown is the least time between two fetches of one process. It bounds
	// how many short tasks go through, and not how soon the first is picked up.
	cooldown = 5 * time.Millisecond

	// poll is how late a task is found whose notification was lost.
	poll = time.Second
)

// phase is where a queue stands in its life.
type phase int

const (
	fresh    phase = iota // may be started
	starting              // Start is speaking with the database
	started               // tasks are run
	stopped               // for good
)

// run is one task in the hands of a handler.
type run struct {
	id     int64           // of its job
	task   queue.Task      // changed by settle alone, under Queue.mu
	ctx    context.Context // of the handler
	cancel context.CancelCauseFunc
	ending bool          // the handler has returned; guarded by Queue.mu
	ended  chan struct{} // closed when that is recorded
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
	q.slots = n
	client, err := q.startClient(ctx, n, h)
	if err != nil {
		_ = q.enter(starting, fresh) // a Stop meanwhile is as good
		return fmt.Errorf("start the queue: %w", err)
	}

	q.mu.Lock()
	defer q.mu.Unlock()
	finished := make(chan struct{})
	go q.tend(context.WithoutCancel(ctx), client, finished) // until q.stopping, which may be closed already
	if q.phase == stopped {
		return fmt.Errorf("start the queue: %w", queue.ErrStopping)
	}
	q.phase, q.finished = started, finished
	return nil
}

// tend does all that is to be done beside the tasks, until the queue has stopped
// and the last handler has returned.
func (q *Queue) tend(ctx context.Context, client *river.Client[pgxTx], finished chan<- struct{}) {
	defer close(finished)
	var attendants sync.WaitGroup
	tending, cancel := context.WithCancel(ctx)
	attendants.Go(func() { q.keepBeating(tending) })
	attendants.Go(func() { q.doChores(tending) })

	<-q.stopping
	_ = client.Stop(ctx) // waits for the handlers; Stop itself waits no longer than it may
	cancel()
	attendants.Wait()
	if err := q.sayGone(ctx); err != nil {
		q.log.WarnContext(ctx, "the end of this worker cannot be recorded", "worker", q.id, "err", err)
	}
}

// startClient makes this worker known, and has River fetch tasks for it. River's
// own leader and his maintenance are not needed: nothing is rescued by its age,
// no finished jobs are kept, and tasks that become due are promoted in doChores.
func (q *Queue) startClient(ctx context.Context, n int, h queue.Handler) (*river.Client[pgxTx], error) {
	if err := q.sayAlive(ctx); err != nil {
		return nil, err
	}
	// What a dead worker has left, often this one's predecessor, comes first.
	if err := q.giveBack(ctx, 0); err != nil {
		return nil, err
	}
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, &worker{q: q, handle: h}); err != nil {
		return nil, err
	}
	client, err := river.NewClient(riverpgxv5.New(q.pool), &river.Config{
		ID:                     q.id,
		Queues:                 map[string]river.QueueConfig{queueName: {MaxWorkers: n}},
		Workers:                workers,
		FetchCooldown:          cooldown,
		FetchPollInterval:      poll,
		JobTimeout:             -1,
		MaxAttempts:            endless,
		LeaderElectionDisabled: true,
		Logger:                 errorsOnly(q.log),
	})
	if err != nil {
		return nil, err
	}
	return client, client.Start(context.WithoutCancel(ctx))
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
// written when ctx ends is given to others when this worker is missed.
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

// worker is how River calls the handler.
type worker struct {
	river.WorkerDefaults[args]
	q      *Queue
	handle queue.Handler
}

// Work implements river.Worker. When it returns, the job is gone or has another
// id, so what River then records about the old one changes nothing. The only
// exception is an end that could not be recorded before the process stops: that
// task has to run again. So River is told to put the job back, always.
func (w *worker) Work(ctx context.Context, job *river.Job[args]) error {
	r := w.q.begin(ctx, job)
	defer r.cancel(nil)
	detach := context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), rivertype.ErrJobCancelledRemotely) {
			r.cancel(queue.ErrCancelled)
		}
	})
	defer detach()

	w.q.settle(ctx, r)
	err := attempt(r.ctx, r.task, w.handle)
	w.q.record(context.WithoutCancel(ctx), r, err, context.Cause(r.ctx))
	w.q.unregister(r)
	w.q.convalesce(err)
	return river.JobSnooze(0)
}

// convalesce keeps the place of a task that failed because of this worker empty
// for a while.
func (q *Queue) convalesce(err error) {
	q.mu.Lock()
	if errors.Is(err, queue.ErrUnwell) {
		q.unwell++
	} else if err == nil {
		q.unwell = 0
	}
	failures := q.unwell
	q.mu.Unlock()
	if failures == 0 || !errors.Is(err, queue.ErrUnwell) {
		return
	}
	select {
	case <-time.After(min(queue.Backoff(failures), longestRest)):
	case <-q.stopping:
	}
}

// longestRest is how long a worker in trouble takes no task, at most.
const longestRest = 15 * time.Second

// begin makes a fetched task known, so that Cancel, Quiet and Stop find it. Its
// context has nothing to do with River's, which ends without our reasons.
func (q *Queue) begin(ctx context.Context, job *river.Job[args]) *run {
	r := &run{id: job.ID, ended: make(chan struct{}), task: job.Args.task(job.Attempt)}
	r.ctx, r.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	q.mu.Lock()
	defer q.mu.Unlock()
	q.runs[r.id] = r
	if q.phase == stopped {
		r.cancel(queue.ErrStopping)
	}
	return r
}

// rename notes that a run is that of another task.
func (q *Queue) rename(r *run, t queue.Task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	r.task = t
}

func (q *Queue) unregister(r *run) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.runs, r.id)
	close(r.ended)
}

// stopRuns ends those of the runs that are here.
func (q *Queue) stopRuns(ids []int64, why error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range ids {
		if r, ok := q.runs[id]; ok {
			r.cancel(why)
		}
	}
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
