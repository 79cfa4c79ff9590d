package river

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/executor"
)

// chooseSQL finds a waiting task of the same tenant that is more urgent than a
// running one, and a task of a tenant that runs fewer. It returns no row if the
// running one was cancelled.
var chooseSQL = `
	SELECT urgent.id, (` + underservedSQL + `) FROM river_job AS ours LEFT JOIN LATERAL (
	       SELECT id FROM river_job AS waits
	        WHERE state = 'available' AND queue = '` + queueName + `' AND args->>'tenant' = ours.args->>'tenant'
	          AND ((args->>'priority')::bigint, (metadata->>'seq')::bigint)
	            < ((ours.args->>'priority')::bigint, (ours.metadata->>'seq')::bigint)
	          AND scheduled_at < '` + realTime + `'
	        ORDER BY (args->>'priority')::bigint, (metadata->>'seq')::bigint LIMIT 1) AS urgent ON true
	 WHERE ours.id = $1 AND ours.state = 'running' AND NOT ours.metadata ? 'cancel_attempted_at'`

// chooseTask decides which task runs in a slot that was fetched a moment ago: that
// of a tenant that runs fewer tasks, if there is one, and then the most urgent one of
// the tenant. It also finds a cancellation that was committed before the attempt was
// registered; a later one reaches the attempt by itself. If the database does not
// answer, the fetched task begins, and the next heartbeat checks it again.
func (q *Queue) chooseTask(ctx context.Context, a *executor.Attempt) {
	limited, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	err := q.choose(limited, a)
	if _, unknown := errors.AsType[swapError](err); unknown {
		q.log.WarnContext(ctx, "it is unknown whether a task was swapped", "task", a.Task.String(), "err", err)
		err = q.identify(ctx, a)
	}
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		a.Cancel()
	case err != nil:
		q.log.WarnContext(ctx, "the most urgent task cannot be found", "task", a.Task.String(), "err", err)
	}
}

// choose gives a the task that it has to run. Mostly that is the one that was fetched,
// which takes one query to know. It fails with pgx.ErrNoRows if a's job is not ours any
// more.
func (q *Queue) choose(ctx context.Context, a *executor.Attempt) error {
	var urgent, underserved *int64
	err := q.pool.QueryRow(ctx, chooseSQL, a.ID).Scan(&urgent, &underserved)
	if err == nil && underserved != nil {
		if err := q.shareOut(ctx, a); err != nil {
			return err
		}
		err = q.pool.QueryRow(ctx, chooseSQL, a.ID).Scan(&urgent, &underserved)
	}
	if err != nil || urgent == nil {
		return err
	}
	return q.runUrgent(ctx, a, *urgent)
}

// runUrgent gives a a more urgent task of its tenant, which swaps slots with the one
// that was fetched. If another worker has taken the urgent task meanwhile, nothing
// changes.
func (q *Queue) runUrgent(ctx context.Context, a *executor.Attempt, urgent int64) error {
	err := q.swap(ctx, a, func(ctx context.Context, tx pgx.Tx, a *executor.Attempt) (queue.Task, error) {
		return q.replace(ctx, tx, a, urgent, true)
	})
	if errors.Is(err, errTaken) {
		return nil
	}
	return err
}

// swapError is an error of a swap whose transaction may have been committed all the same.
type swapError struct{ error }

func (e swapError) Unwrap() error { return e.error }

// swap runs f in a transaction. Then a runs the task that f has put into its job.
func (q *Queue) swap(ctx context.Context, a *executor.Attempt, f func(context.Context, pgx.Tx, *executor.Attempt) (queue.Task, error)) error {
	var task queue.Task
	err := pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) (err error) {
		task, err = f(ctx, tx, a)
		return err
	})
	switch {
	case errors.Is(err, errTaken) || errors.Is(err, pgx.ErrNoRows):
		return err
	case err != nil:
		return swapError{fmt.Errorf("swap job %d: %w", a.ID, err)}
	}
	q.executor.SetTask(a, task)
	return nil
}

// replace runs the job other instead of a's job, under the id by which River knows
// this attempt, and puts a's job back. With swapSlots, the two swap their slots. It
// fails with pgx.ErrNoRows if a's job is not ours any more, and with errTaken if another
// worker has taken the other job meanwhile.
func (q *Queue) replace(ctx context.Context, tx pgx.Tx, a *executor.Attempt, other int64, swapSlots bool) (queue.Task, error) {
	const (
		lockOurs = `
			SELECT scheduled_at FROM river_job
			 WHERE id = $1 AND state = 'running' AND NOT metadata ? 'cancel_attempted_at' FOR UPDATE`
		lockOther = `SELECT scheduled_at FROM river_job WHERE id = $1 AND state = 'available' FOR UPDATE SKIP LOCKED`
		putBack   = `
			UPDATE river_job
			   SET id = nextval('river_job_id_seq'), state = 'available', attempt = greatest(attempt - 1, 0),
			       scheduled_at = $2, metadata = metadata || jsonb_build_object('turn', $2::timestamptz)
			 WHERE id = $1`
		take = `
			UPDATE river_job
			   SET id = $1, state = 'running', attempt = attempt + 1, attempted_at = now(), attempted_by = ARRAY[$4::text],
			       scheduled_at = $3, metadata = metadata || jsonb_build_object('turn', $3::timestamptz)
			 WHERE id = $2 RETURNING args, attempt`
	)
	var ours, theirs time.Time // the slots
	if err := tx.QueryRow(ctx, lockOurs, a.ID).Scan(&ours); err != nil {
		return queue.Task{}, err
	}
	if err := tx.QueryRow(ctx, lockOther, other).Scan(&theirs); errors.Is(err, pgx.ErrNoRows) {
		return queue.Task{}, errTaken
	} else if err != nil {
		return queue.Task{}, err
	}
	if swapSlots {
		ours, theirs = theirs, ours
	}
	if _, err := tx.Exec(ctx, putBack, a.ID, ours); err != nil {
		return queue.Task{}, err
	}
	var task args
	var attempt int
	if err := tx.QueryRow(ctx, take, a.ID, other, theirs, q.id).Scan(&task, &attempt); err != nil {
		return queue.Task{}, err
	}
	return task.task(attempt), q.notify(ctx, tx)
}

// identify finds out which task the job of a holds after a swap that failed: its
// commit may have happened all the same. It retries until it knows, because
// finishing the job as the wrong task would lose the other task for good. It fails
// with pgx.ErrNoRows if the job is not ours any more, and returns without an
// answer if the queue stops: requeuing is right for either task.
func (q *Queue) identify(ctx context.Context, a *executor.Attempt) error {
	for failures := 1; ; failures++ {
		task, err := q.taskOf(ctx, a.ID)
		if err == nil {
			q.executor.SetTask(a, task)
			return nil
		}
		if errors.Is(err, pgx.ErrNoRows) || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(min(queue.Backoff(failures), queryTimeout)):
		case <-q.executor.Stopping():
			return err
		}
	}
}

// taskOf returns the task of a job that runs and was not cancelled. It first waits
// for any transaction that has locked the row, because that one may be committing.
func (q *Queue) taskOf(ctx context.Context, id int64) (queue.Task, error) {
	const (
		wait = `SELECT 1 FROM river_job WHERE id = $1 FOR SHARE`
		find = `SELECT args, attempt FROM river_job WHERE id = $1 AND state = 'running' AND NOT metadata ? 'cancel_attempted_at'`
	)
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	if _, err := q.pool.Exec(ctx, wait, id); err != nil {
		return queue.Task{}, fmt.Errorf("wait for job %d: %w", id, err)
	}
	var task args
	var attempt int
	if err := q.pool.QueryRow(ctx, find, id).Scan(&task, &attempt); err != nil {
		return queue.Task{}, fmt.Errorf("read job %d: %w", id, err)
	}
	return task.task(attempt), nil
}

// errTaken means that another worker has taken the more urgent task.
var errTaken = errors.New("the task is taken")
