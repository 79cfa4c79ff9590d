package river

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/spool-video/spool/internal/backend/queue/executor"
)

// queryTimeout bounds one query to the database.
const queryTimeout = 5 * time.Second

// finish returns the write that records the result of an attempt in its job. The
// heartbeats go on until it is written, so nobody else runs the task meanwhile.
func (q *Queue) finish(a *executor.Attempt, r executor.Result, pause time.Duration) func(context.Context) error {
	switch r {
	case executor.Stopped:
		return func(ctx context.Context) error { return q.requeue(ctx, a.ID) }
	case executor.Failed:
		q.failed.Add(1)
		return func(ctx context.Context) error { return q.retryAfter(ctx, a.ID, pause) }
	case executor.Done:
		q.done.Add(1)
	}
	return func(ctx context.Context) error { return q.remove(ctx, a.ID) }
}

// pgxExecer is the pool or a transaction.
type pgxExecer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// remove deletes a job. It is no error if the job is gone: another worker has it
// then. If it was cancelled, a new task of its name may have waited for it.
func (q *Queue) remove(ctx context.Context, id int64) error {
	const remove = `DELETE FROM river_job WHERE id = $1 AND state = 'running' RETURNING metadata ? 'cancel_attempted_at'`

	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var cancelled bool
	err := q.pool.QueryRow(ctx, remove, id).Scan(&cancelled)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("remove job %d: %w", id, err)
	}
	if !cancelled {
		return nil
	}
	return q.wakeSuccessors(ctx)
}

// requeueSQL puts a job back, first in line, without counting the attempt. The new
// id fences off the old attempt.
const requeueSQL = `
	UPDATE river_job
	   SET id = nextval('river_job_id_seq'), state = 'available', attempt = greatest(attempt - 1, 0),
	       scheduled_at = (metadata->>'turn')::timestamptz - interval '1 microsecond'`

// requeue makes a task run again before all others.
func (q *Queue) requeue(ctx context.Context, id int64) error {
	return q.putBack(ctx, id, requeueSQL+` WHERE id = $1 AND state = 'running' AND NOT metadata ? 'cancel_attempted_at'`)
}

// retryAfter makes a task run again after a pause.
func (q *Queue) retryAfter(ctx context.Context, id int64, pause time.Duration) error {
	return q.putBack(ctx, id, `
		UPDATE river_job
		   SET id = nextval('river_job_id_seq'), state = 'retryable', attempt = least(attempt, max_attempts - 1),
		       scheduled_at = now() + $2 * interval '1 microsecond'
		 WHERE id = $1 AND state = 'running' AND NOT metadata ? 'cancel_attempted_at'`, pause.Microseconds())
}

// putBack runs an update that puts a job back into the queue. If it finds no such
// job, the task was cancelled or another worker has it; either way it ends here.
func (q *Queue) putBack(ctx context.Context, id int64, update string, more ...any) error {
	limited, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	tag, err := q.pool.Exec(limited, update, append([]any{id}, more...)...)
	if err != nil {
		return fmt.Errorf("put job %d back: %w", id, err)
	}
	if tag.RowsAffected() == 0 {
		return q.remove(ctx, id)
	}
	return q.notify(limited, q.pool)
}

// notify wakes the fetchers of all machines.
func (q *Queue) notify(ctx context.Context, db pgxExecer) error {
	if _, err := db.Exec(ctx, notifySQL); err != nil {
		return fmt.Errorf("wake the workers: %w", err)
	}
	return nil
}

// wakeSuccessors makes tasks available that were enqueued while a cancelled
// attempt of their name was still running, once it has ended. It skips locked
// rows; the next maintenance finds them.
func (q *Queue) wakeSuccessors(ctx context.Context) error {
	const update = `
		UPDATE river_job
		   SET state = CASE WHEN scheduled_at < '` + realTime + `' THEN 'available' ELSE 'scheduled' END::river_job_state
		 WHERE id IN (SELECT id FROM river_job AS next
		               WHERE state = 'pending' AND queue = $1 AND NOT EXISTS (
		                     SELECT 1 FROM river_job AS old
		                      WHERE old.state = 'running' AND old.queue = $1
		                        AND (old.args->>'kind', old.args->>'video', old.args->>'number')
		                          = (next.args->>'kind', next.args->>'video', next.args->>'number'))
		                 FOR UPDATE SKIP LOCKED)`

	tag, err := q.pool.Exec(ctx, update, queueName)
	if err != nil {
		return fmt.Errorf("wake the successors of cancelled tasks: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return nil
	}
	return q.notify(ctx, q.pool)
}
