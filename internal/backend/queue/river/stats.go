package river

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/executor"
	"github.com/spool-video/spool/internal/video"
)

// Names implements queue.Queue. A cancelled task has no name any more.
func (q *Queue) Names(ctx context.Context, tx queue.Tx, id video.ID) ([]queue.Name, error) {
	return executor.Names(ctx, tx, id, `
		SELECT args->>'kind', (args->>'number')::int
		  FROM river_job
		 WHERE queue = $1 AND args->>'video' = $2 AND finalized_at IS NULL AND NOT metadata ? 'cancel_attempted_at'`, queueName, id)
}

// All implements queue.Queue.
func (q *Queue) All(ctx context.Context, r queue.Reader) iter.Seq2[queue.Task, error] {
	return executor.All(ctx, r, `
		SELECT args->>'kind', args->>'video', (args->>'number')::int, args->>'tenant', (args->>'priority')::int,
		       coalesce((extract(epoch FROM (args->>'runAt')::timestamptz) * 1000)::bigint, 0)
		  FROM river_job
		 WHERE queue = $1 AND finalized_at IS NULL AND NOT metadata ? 'cancel_attempted_at' ORDER BY id`, queueName)
}

// WaitIdle implements queue.Queue for all machines: it polls the database. It
// notices the end of an attempt on this machine at once.
func (q *Queue) WaitIdle(ctx context.Context, id video.ID, keep ...queue.Kind) error {
	const find = `
		SELECT EXISTS (SELECT 1 FROM river_job
		                WHERE state = 'running' AND queue = $1 AND args->>'video' = $2 AND args->>'kind' <> ALL($3))`

	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		here := q.executor.AttemptOn(id, keep)
		if here == nil {
			var running bool
			if err := q.pool.QueryRow(ctx, find, queueName, id, toStrings(keep)).Scan(&running); err != nil {
				return fmt.Errorf("wait for the tasks of video %s: %w", id, err)
			}
			if !running {
				return nil
			}
		}
		if err := wait(ctx, here, pause); err != nil {
			return fmt.Errorf("wait for the tasks of video %s: %w", id, err)
		}
	}
}

// wait waits for the end of an attempt here, but not longer than pause: an attempt
// that has just begun may still swap to a task of another video.
func wait(ctx context.Context, here *executor.Attempt, pause time.Duration) error {
	var ended <-chan struct{}
	if here != nil {
		ended = here.Ended()
	}
	select {
	case <-ended:
	case <-time.After(pause):
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Stats implements queue.Queue. A cancelled task is not counted, even if its
// handler has not returned yet.
func (q *Queue) Stats(ctx context.Context) (map[queue.Kind]queue.Stat, error) {
	// A task that had to wait is due since the time that it was promoted with, or
	// since its real time if that has just come; any other since it was enqueued.
	const count = `
		SELECT kind, count(*) FILTER (WHERE state <> 'running'), count(*) FILTER (WHERE state = 'running'),
		       coalesce(extract(epoch FROM now() - min(due) FILTER (WHERE state <> 'running' AND due <= now())), 0)::float8
		  FROM (SELECT args->>'kind' AS kind, state, CASE
		               WHEN scheduled_at > '` + realTime + `' THEN scheduled_at
		               WHEN metadata ? 'due' THEN to_timestamp((metadata->>'due')::float8)
		               ELSE created_at END AS due
		          FROM river_job
		         WHERE queue = $1 AND finalized_at IS NULL
		           AND NOT (state = 'running' AND metadata ? 'cancel_attempted_at')) AS task
		 GROUP BY kind`

	rows, err := q.pool.Query(ctx, count, queueName)
	if err != nil {
		return nil, fmt.Errorf("count tasks: %w", err)
	}
	defer rows.Close()
	stats := map[queue.Kind]queue.Stat{}
	for rows.Next() {
		var kind queue.Kind
		var s queue.Stat
		var oldest float64
		if err := rows.Scan(&kind, &s.Waiting, &s.Running, &oldest); err != nil {
			return nil, fmt.Errorf("count tasks: %w", err)
		}
		s.Oldest = time.Duration(max(0, oldest) * float64(time.Second))
		stats[kind] = s
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("count tasks: %w", err)
	}
	return stats, nil
}
