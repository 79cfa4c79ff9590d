package river

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/spool-video/spool/internal/backend/queue/life"
)

// patience is how long one question to the database may take.
const patience = 5 * time.Second

// end returns the write that makes the end of a run so for its job. Until it is
// written the beats go on, so nobody else runs the task.
func (q *Queue) end(r *life.Run, o life.Outcome, pause time.Duration) func(context.Context) error {
	switch o {
	case life.Stopped:
		return func(ctx context.Context) error { return q.handBack(ctx, q.pool, r.ID) }
	case life.Failed:
		q.failed.Add(1)
		return func(ctx context.Context) error { return q.putOff(ctx, r.ID, pause) }
	case life.Done:
		q.done.Add(1)
	}
	return func(ctx context.Context) error { return q.remove(ctx, q.pool, r.ID) }
}

// executor is the pool or a transaction.
type executor interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// remove ends a run for good. That the job is gone is no error: it was given to
// another worker. A run that was cancelled may have kept a new task of its name
// waiting.
func (q *Queue) remove(ctx context.Context, db executor, id int64) error {
	const remove = `DELETE FROM river_job WHERE id = $1 AND state = 'running' RETURNING metadata ? 'cancel_attempted_at'`

	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var cancelled bool
	err := db.QueryRow(ctx, remove, id).Scan(&cancelled)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("remove job %d: %w", id, err)
	}
	if !cancelled {
		return nil
	}
	return q.wakeSuccessors(ctx, db)
}

// backSQL puts a job back, to take the next turn, without having used an attempt.
// The new id ends whatever the old one could still do.
const backSQL = `
	UPDATE river_job
	   SET id = nextval('river_job_id_seq'), state = 'available', attempt = greatest(attempt - 1, 0),
	       scheduled_at = (metadata->>'turn')::timestamptz - interval '1 microsecond'`

// handBack lets a task run again before all others.
func (q *Queue) handBack(ctx context.Context, db executor, id int64) error {
	return q.putBack(ctx, db, id, backSQL+` WHERE id = $1 AND state = 'running' AND NOT metadata ? 'cancel_attempted_at'`)
}

// putOff lets a task run again after a pause.
func (q *Queue) putOff(ctx context.Context, id int64, pause time.Duration) error {
	return q.putBack(ctx, q.pool, id, `
		UPDATE river_job
		   SET id = nextval('river_job_id_seq'), state = 'retryable', attempt = least(attempt, max_attempts - 1),
		       scheduled_at = now() + $2 * interval '1 microsecond'
		 WHERE id = $1 AND state = 'running' AND NOT metadata ? 'cancel_attempted_at'`, pause.Microseconds())
}

// putBack runs an update that puts a task back into the queue. One that it does
// not find was cancelled, or given to another worker; both end it here.
func (q *Queue) putBack(ctx context.Context, db executor, id int64, update string, more ...any) error {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tag, err := db.Exec(limited, update, append([]any{id}, more...)...)
	if err != nil {
		return fmt.Errorf("put job %d back: %w", id, err)
	}
	if tag.RowsAffected() == 0 {
		return q.remove(ctx, db, id)
	}
	return q.ring(limited, db)
}

// ring wakes the fetchers of all machines.
func (q *Queue) ring(ctx context.Context, db executor) error {
	if _, err := db.Exec(ctx, ringSQL); err != nil {
		return fmt.Errorf("wake the workers: %w", err)
	}
	return nil
}

// wakeSuccessors makes tasks available that were put in while a cancelled run of
// their name had not ended, and whose way is free now. One that is locked is
// found by the next look.
func (q *Queue) wakeSuccessors(ctx context.Context, db executor) error {
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

	tag, err := db.Exec(ctx, update, queueName)
	if err != nil {
		return fmt.Errorf("wake the successors of cancelled tasks: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return nil
	}
	return q.ring(ctx, db)
}
