package river

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
)

// Cancel implements queue.Queue. Waiting tasks are deleted at once. Running ones
// lose their name, so that it can be enqueued again in the same transaction, and
// are marked. River notifies their workers when the transaction commits; a worker
// that misses the notification finds the mark with its next heartbeat.
func (q *Queue) Cancel(ctx context.Context, tx queue.Tx, id video.ID, keep ...queue.Kind) error {
	if err := q.cancel(ctx, tx, id, keep); err != nil {
		return fmt.Errorf("cancel the tasks of video %s: %w", id, err)
	}
	return nil
}

func (q *Queue) cancel(ctx context.Context, tx queue.Tx, id video.ID, keep []queue.Kind) error {
	if err := lockVideos(ctx, tx, id); err != nil {
		return err
	}
	waiting, running, err := lockTasks(ctx, tx, id, keep)
	if err != nil {
		return err
	}
	if len(waiting) > 0 {
		if _, err := tx.ExecContext(ctx, `DELETE FROM river_job WHERE id = ANY($1)`, waiting); err != nil {
			return err
		}
	}
	if len(running) == 0 {
		return nil
	}
	const removeName = `UPDATE river_job SET unique_key = NULL, unique_states = NULL WHERE id = ANY($1)`
	if _, err := tx.ExecContext(ctx, removeName, running); err != nil {
		return err
	}
	err = withPgxTx(tx, func(tx pgx.Tx) error {
		for _, job := range running {
			if _, err := q.insert.JobCancelTx(ctx, tx, job); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	tx.OnCommit(func() { q.executor.Cancel(running) })
	return nil
}

// lockTasks locks the tasks of a video that are not cancelled and returns the ids
// of their jobs. Locking comes before changing: a task that has just begun or gone
// back into the queue then has its new id and state.
func lockTasks(ctx context.Context, tx queue.Tx, id video.ID, keep []queue.Kind) (waiting, running []int64, err error) {
	const lock = `
		SELECT id, state = 'running'
		  FROM river_job
		 WHERE queue = $1 AND args->>'video' = $2 AND args->>'kind' <> ALL($3)
		   AND finalized_at IS NULL AND NOT metadata ? 'cancel_attempted_at'
		 ORDER BY id
		   FOR UPDATE`

	rows, err := tx.QueryContext(ctx, lock, queueName, id, toStrings(keep))
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var job int64
		var runs bool
		if err := rows.Scan(&job, &runs); err != nil {
			return nil, nil, err
		}
		if runs {
			running = append(running, job)
		} else {
			waiting = append(waiting, job)
		}
	}
	return waiting, running, rows.Err()
}

// toStrings converts a list for PostgreSQL. It is never NULL: x <> ALL(NULL) is true
// for no x.
func toStrings[T ~string](list []T) []string {
	all := make([]string, len(list))
	for i, s := range list {
		all[i] = string(s)
	}
	return all
}
