package river

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/attempts"
)

const (
	// fetchCooldown is the shortest time between two fetches of one process. It
	// bounds the throughput of short tasks, not how soon the first is picked up.
	fetchCooldown = 5 * time.Millisecond
	// pollInterval is how late a task is found whose notification was lost.
	pollInterval = time.Second
	// maxBackOff is the longest time that an unhealthy worker takes no other task.
	maxBackOff = 15 * time.Second
)

// errLost ends an attempt of a process that others take for dead, because it could not say that it is alive.
var errLost = fmt.Errorf("this process was cut off: %w", queue.ErrCancelled)

// Start implements queue.Queue. ctx bounds only the start; the handlers get its
// values. Only Stop ends the work.
func (q *Queue) Start(ctx context.Context, lanes map[queue.Lane]queue.Pool) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := attempts.CheckStart(lanes, q.stopping, q.lanes != nil); err != nil {
		return err
	}
	if err := q.start(ctx, lanes); err != nil {
		return fmt.Errorf("start the queue: %w", err)
	}
	return nil
}

func (q *Queue) start(ctx context.Context, lanes map[queue.Lane]queue.Pool) error {
	if err := q.openHeartbeatPool(ctx); err != nil {
		return err
	}
	// First put back what a dead process has left, often this one's predecessor.
	err := q.writeHeartbeat(ctx, lanes)
	if err == nil {
		err = q.rescue(ctx, 0)
	}
	if err == nil {
		q.client, err = q.startClient(context.WithoutCancel(ctx), lanes)
	}
	if err != nil {
		q.beats.Close()
		return err
	}
	q.lanes, q.finished = lanes, make(chan struct{})
	var loops sync.WaitGroup
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	loops.Go(func() { q.sendHeartbeats(running) })
	loops.Go(func() { q.admitLoop(running) })
	go func() {
		defer close(q.finished)
		<-q.client.Stopped()
		cancel()
		loops.Wait()
		q.removeWorker(context.WithoutCancel(ctx))
		q.beats.Close()
	}()
	q.wake()
	return nil
}

// startClient has River fetch tasks for this process.
func (q *Queue) startClient(ctx context.Context, lanes map[queue.Lane]queue.Pool) (*river.Client[pgx.Tx], error) {
	c := q.config()
	c.ID, c.FetchCooldown, c.FetchPollInterval = q.id, fetchCooldown, pollInterval
	c.Queues, c.Workers = map[string]river.QueueConfig{}, river.NewWorkers()
	for lane, pool := range lanes {
		c.Queues[string(lane)] = river.QueueConfig{MaxWorkers: pool.Places}
	}
	if err := river.AddWorkerSafely(c.Workers, &worker{q: q, lanes: lanes}); err != nil {
		return nil, err
	}
	client, err := river.NewClient(riverpgxv5.New(q.pool), c)
	if err != nil {
		return nil, err
	}
	if err := client.Start(ctx); err != nil {
		return nil, err
	}
	ended, _ := client.Subscribe(river.EventKindJobCancelled, river.EventKindJobSnoozed) // what else ends wakes by itself
	go func() {
		for range ended { // until the client stops
			q.wake()
		}
	}()
	return client, nil
}

// Stop implements queue.Queue. If ctx ends before a task could be put back, others do so when this
// process's heartbeats are missing.
func (q *Queue) Stop(ctx context.Context) error {
	q.mu.Lock()
	q.stopping = true
	client, finished := q.client, q.finished
	q.mu.Unlock()
	if client == nil {
		return nil
	}
	err := client.StopAndCancel(ctx)
	if err == nil {
		select {
		case <-finished:
			return nil
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return fmt.Errorf("wait for running tasks to stop: %w", err)
}

// worker is how River calls the handlers.
type worker struct {
	river.WorkerDefaults[args]
	q     *Queue
	lanes map[queue.Lane]queue.Pool
}

// Work implements river.Worker.
func (w *worker) Work(ctx context.Context, job *river.Job[args]) error {
	a := w.q.running.Begin(ctx, job.ID, job.Args.task(job.Attempt))
	defer w.q.running.End(a)
	if isCancelled(job.JobRow) { // between its fetch and now
		a.Cancel(queue.ErrCancelled)
	}
	detach := context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), rivertype.ErrJobCancelledRemotely) {
			a.Cancel(queue.ErrCancelled)
		} else {
			a.Cancel(queue.ErrStopping)
		}
	})
	defer detach()
	err := a.Run(w.lanes[queue.Lane(job.Queue)].Handle)
	return w.q.result(ctx, job, a, err)
}

// result records the end of an attempt, or returns what River shall record. If the handler was told to
// stop, its error does not count.
func (q *Queue) result(ctx context.Context, job *river.Job[args], a *attempts.Attempt, err error) error {
	cause := a.Cause()
	switch {
	case a.Completed():
		q.count(a, nil)
		return nil
	case errors.Is(cause, errLost):
		return river.JobSnooze(0)
	case errors.Is(cause, queue.ErrCancelled):
		return river.JobCancel(cause)
	case errors.Is(cause, attempts.ErrYield):
		return q.putBack(ctx, a, 0, false)
	case cause != nil:
		return context.Canceled // River puts it back, and does not count the attempt
	}
	q.count(a, err)
	if err == nil {
		q.complete(ctx, job)
		q.backOff(ctx, nil)
		return nil
	}
	pause := a.Pause(err)
	if _, asked := queue.PauseOf(err); !asked {
		q.log.WarnContext(ctx, "a task failed and will run again",
			append(attempts.LogAttrs(err), "task", a.Task.String(), "attempt", a.Task.Attempt, "pause", pause)...)
	}
	q.backOff(ctx, err)
	return q.putBack(ctx, a, pause, true)
}

// putBackSQL has the task of a job wait for $2, as a new job: River completes the old one when Work returns,
// but writes nothing if it is closed. A job that was cancelled, or that others have closed, stays as it is. While
// an attempt runs, no other one is at the same job. The count of attempts stays below the 32,000 after which River
// would end the task. The argument 'first' is the id of the task's first job, and keeps its place in the order.
const putBackSQL = `
	WITH closed AS (
	     UPDATE river_job SET state = 'discarded', finalized_at = now()
	      WHERE id = $1 AND state = 'running' AND NOT metadata ? 'cancel_attempted_at'
	     RETURNING *
	)
	INSERT INTO river_job (state, priority, scheduled_at, attempt, args, kind, max_attempts, queue, unique_key, unique_states)
	SELECT 'pending', 4, now() + $2::interval, least(CASE WHEN $3 THEN attempt ELSE attempt - 1 END, max_attempts - 2),
	       args || jsonb_build_object('first', coalesce(args->'first', to_jsonb(id))), kind, max_attempts, queue, unique_key, unique_states
	  FROM closed`

// putBack has a task wait for a pause, and then for a place. If the database refuses, River makes it available
// again, without a pause and without counting the attempt: too early is better than lost. The returned error is
// for River.
func (q *Queue) putBack(ctx context.Context, a *attempts.Attempt, pause time.Duration, counts bool) error {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), queryTimeout)
	defer cancel()
	if _, err := q.pool.Exec(limited, putBackSQL, a.Row, pause, counts); err != nil {
		q.log.WarnContext(ctx, "a task runs again without a pause, because that could not be recorded", "task", a.Task.String(), "err", err)
		return river.JobSnooze(0)
	}
	q.wake()
	return nil
}

// count counts the results of attempts that encode.
func (q *Queue) count(a *attempts.Attempt, err error) {
	switch {
	case a.Task.Kind.Lane() != queue.EncodeLane:
	case err == nil:
		q.done.Add(1)
	default:
		q.failed.Add(1)
	}
}

// complete records a success. River would do so as well, up to a quarter of a second later, and does if
// this fails.
func (q *Queue) complete(ctx context.Context, job *river.Job[args]) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), queryTimeout)
	defer cancel()
	err := pgx.BeginFunc(limited, q.pool, func(tx pgx.Tx) error { return completeJob(limited, tx, job.ID) })
	if err != nil && !errors.Is(err, queue.ErrCancelled) {
		q.log.WarnContext(ctx, "the end of a task is recorded late", "task", job.Args.Name, "err", err)
	}
	q.wake()
}

// backOff keeps the place of a task for a while that failed because of this machine, so that healthy ones
// get the next tasks. Any other end of a task shows that the machine is well again.
func (q *Queue) backOff(ctx context.Context, err error) {
	if !errors.Is(err, queue.ErrWorkerUnhealthy) {
		q.unhealthy.Store(0)
		return
	}
	select {
	case <-time.After(min(queue.Backoff(int(q.unhealthy.Add(1))), maxBackOff)):
	case <-ctx.Done():
	}
}
