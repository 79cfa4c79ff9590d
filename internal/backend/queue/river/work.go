package river

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/spool-video/spool/internal/backend/queue"
)

const (
	// cooldown is the least time between two fetches of one process. It bounds
	// how many short tasks go through, and not how soon the first is picked up.
	cooldown = 5 * time.Millisecond

	// poll is how late a task is found whose notification was lost.
	poll = time.Second
)

// Start implements queue.Queue. ctx bounds the start alone and lends the
// handlers its values; only Stop ends the work.
func (q *Queue) Start(ctx context.Context, n int, h queue.Handler) error {
	return q.life.Start(n, func() (func(), error) {
		q.slots = n
		if err := q.openHeart(ctx); err != nil {
			return nil, err
		}
		client, err := q.startClient(ctx, n, h)
		if err != nil {
			q.heart.Close()
		}
		return func() { q.tend(context.WithoutCancel(ctx), client) }, err
	})
}

// Stop implements queue.Queue. A task whose return to the queue could not be
// written when ctx ends is given to others when this worker is missed.
func (q *Queue) Stop(ctx context.Context) error { return q.life.Stop(ctx) }

// tend does all that is to be done beside the tasks, until the queue has stopped
// and the last handler has returned.
func (q *Queue) tend(ctx context.Context, client *river.Client[pgx.Tx]) {
	defer q.heart.Close()
	var attendants sync.WaitGroup
	tending, cancel := context.WithCancel(ctx)
	attendants.Go(func() { q.keepBeating(tending) })
	attendants.Go(func() { q.doChores(tending) })

	<-q.life.Stopping()
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
func (q *Queue) startClient(ctx context.Context, n int, h queue.Handler) (*river.Client[pgx.Tx], error) {
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
	r := w.q.life.Begin(ctx, job.ID, job.Args.task(job.Attempt))
	detach := context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), rivertype.ErrJobCancelledRemotely) {
			r.Cancel()
		}
	})
	defer detach()

	w.q.settle(ctx, r)
	w.q.convalesce(w.q.life.Work(r, w.handle, w.q.end))
	return river.JobSnooze(0)
}

// convalesce keeps the place of a task that failed because of this worker empty
// for a while.
func (q *Queue) convalesce(err error) {
	if err == nil {
		q.unwell.Store(0)
	}
	if !errors.Is(err, queue.ErrWorkerUnhealthy) {
		return
	}
	failures := int(q.unwell.Add(1))
	select {
	case <-time.After(min(queue.Backoff(failures), longestRest)):
	case <-q.life.Stopping():
	}
}

// longestRest is how long a worker in trouble takes no task, at most.
const longestRest = 15 * time.Second
