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
	// fetchCooldown is the shortest time between two fetches of one process. It
	// bounds the throughput of short tasks, not how soon the first is picked up.
	fetchCooldown = 5 * time.Millisecond

	// pollInterval is how late a task is found whose notification was lost.
	pollInterval = time.Second
)

// Start implements queue.Queue. ctx bounds only the start; the handlers get its
// values. Only Stop ends the work.
func (q *Queue) Start(ctx context.Context, n int, h queue.Handler) error {
	return q.executor.Start(n, func() (func(), error) {
		q.slots = n
		if err := q.openHeartbeatPool(ctx); err != nil {
			return nil, err
		}
		client, err := q.startClient(ctx, n, h)
		if err != nil {
			q.beats.Close()
		}
		return func() { q.runLoops(context.WithoutCancel(ctx), client) }, err
	})
}

// Stop implements queue.Queue. If ctx ends before a task could be requeued, others
// reclaim it when this worker's heartbeats are missing.
func (q *Queue) Stop(ctx context.Context) error { return q.executor.Stop(ctx) }

// runLoops writes heartbeats and does maintenance until the queue has stopped and the
// last handler has returned.
func (q *Queue) runLoops(ctx context.Context, client *river.Client[pgx.Tx]) {
	defer q.beats.Close()
	var loops sync.WaitGroup
	running, cancel := context.WithCancel(ctx)
	loops.Go(func() { q.sendHeartbeats(running) })
	loops.Go(func() { q.maintain(running) })

	<-q.executor.Stopping()
	_ = client.Stop(ctx) // waits for the handlers; the context of Stop bounds only Stop itself
	cancel()
	loops.Wait()
	if err := q.removeWorker(ctx); err != nil {
		q.log.WarnContext(ctx, "the end of this worker cannot be recorded", "worker", q.id, "err", err)
	}
}

// startClient registers this worker, and lets River fetch tasks for it. River's
// leader and its maintenance are not needed: jobs are not rescued by their age,
// finished jobs are not kept, and maintain promotes tasks that become due.
func (q *Queue) startClient(ctx context.Context, n int, h queue.Handler) (*river.Client[pgx.Tx], error) {
	if err := q.writeHeartbeat(ctx); err != nil {
		return nil, err
	}
	// First reclaim what a dead worker has left, often this one's predecessor.
	if err := q.reclaim(ctx, 0); err != nil {
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
		FetchCooldown:          fetchCooldown,
		FetchPollInterval:      pollInterval,
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

// Work implements river.Worker. When it returns, the job is gone or has another id,
// so what River then records under the old id changes nothing. The only exception
// is a result that could not be recorded before the process stops: that task has
// to run again. So the answer to River is always to put the job back.
func (w *worker) Work(ctx context.Context, job *river.Job[args]) error {
	a := w.q.executor.Begin(ctx, job.ID, job.Args.task(job.Attempt))
	detach := context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), rivertype.ErrJobCancelledRemotely) {
			a.Cancel()
		}
	})
	defer detach()

	w.q.chooseTask(ctx, a)
	w.q.backOff(w.q.executor.Execute(a, w.handle, w.q.finish))
	return river.JobSnooze(0)
}

// backOff keeps a slot empty for a while after a task failed because of this
// worker, so that healthy workers get the next tasks.
func (q *Queue) backOff(err error) {
	if err == nil {
		q.unhealthy.Store(0)
	}
	if !errors.Is(err, queue.ErrWorkerUnhealthy) {
		return
	}
	failures := int(q.unhealthy.Add(1))
	select {
	case <-time.After(min(queue.Backoff(failures), maxBackOff)):
	case <-q.executor.Stopping():
	}
}

// maxBackOff is the longest time that an unhealthy worker takes no task.
const maxBackOff = 15 * time.Second
