package river

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/attempts"
	"github.com/spool-video/spool/internal/video"
)

// Names implements queue.Queue. A cancelled task has no name any more.
func (q *Queue) Names(ctx context.Context, tx queue.Tx, id video.ID) ([]queue.Name, error) {
	return attempts.Names(ctx, tx, id, `
		SELECT args->>'kind', (args->>'number')::int, args->>'id' FROM river_job
		 WHERE args->>'video' = $1 AND finalized_at IS NULL AND NOT metadata ? 'cancel_attempted_at'`, id)
}

// All implements queue.Queue.
func (q *Queue) All(ctx context.Context, r queue.Reader) iter.Seq2[queue.Task, error] {
	return attempts.All(ctx, r, `
		SELECT args->>'kind', args->>'video', (args->>'number')::int, args->>'id', args->>'tenant', args->>'endpoint', (args->>'priority')::int
		  FROM river_job
		 WHERE finalized_at IS NULL AND NOT metadata ? 'cancel_attempted_at' ORDER BY coalesce((args->>'first')::bigint, id)`)
}

// WaitIdle implements queue.Queue for all machines: it polls the database.
func (q *Queue) WaitIdle(ctx context.Context, id video.ID, keep ...queue.Kind) error {
	const find = `
		SELECT EXISTS (SELECT 1 FROM river_job
		                WHERE state = 'running' AND finalized_at IS NULL AND args->>'video' = $1 AND args->>'kind' <> ALL($2))`

	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		var running bool
		if err := q.pool.QueryRow(ctx, find, id, toStrings(keep)).Scan(&running); err != nil {
			return fmt.Errorf("wait for the tasks of video %s: %w", id, err)
		}
		if !running {
			return nil
		}
		if !sleep(ctx, pause) {
			return fmt.Errorf("wait for the tasks of video %s: %w", id, ctx.Err())
		}
	}
}

// Stats implements queue.Queue. A cancelled task is not counted, even if its
// handler has not returned yet.
func (q *Queue) Stats(ctx context.Context) (map[queue.Kind]queue.Stat, error) {
	return attempts.Stats(ctx, q.read, `
		SELECT args->>'kind', count(*) FILTER (WHERE state <> 'running'), count(*) FILTER (WHERE state = 'running'),
		       coalesce(extract(epoch FROM now() - min(scheduled_at) FILTER (WHERE state <> 'running' AND scheduled_at <= now())), 0)::float8
		  FROM river_job
		 WHERE finalized_at IS NULL AND NOT (state = 'running' AND metadata ? 'cancel_attempted_at')
		 GROUP BY 1`)
}

// Workers implements queue.Queue.
func (q *Queue) Workers(ctx context.Context) ([]queue.Worker, error) {
	const find = `
		SELECT id, host, (places->>$2)::int, now() - started_at, greatest(now() - seen_at, interval '0'), done, failed, version, sandbox, cores
		  FROM queue_worker WHERE seen_at > now() - $1::interval AND places ? $2
		 ORDER BY host, started_at, id`

	rows, err := q.pool.Query(ctx, find, q.lostAfter, queue.EncodeLane)
	if err != nil {
		return nil, fmt.Errorf("list workers: %w", err)
	}
	workers, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (w queue.Worker, err error) {
		err = row.Scan(&w.ID, &w.Host, &w.Slots, &w.Age, &w.Silent, &w.Done, &w.Failed, &w.Version, &w.Sandbox, &w.Cores)
		return w, err
	})
	if err != nil {
		return nil, fmt.Errorf("list workers: %w", err)
	}
	running, err := q.runningByWorker(ctx)
	if err != nil {
		return nil, fmt.Errorf("list running tasks: %w", err)
	}
	for i := range workers {
		workers[i].Running = running[workers[i].ID]
	}
	return workers, nil
}

// runningByWorker returns the tasks that encode, by the id of their worker. A cancelled
// task runs until its handler has returned.
func (q *Queue) runningByWorker(ctx context.Context) (map[string][]queue.RunningTask, error) {
	const find = `
		SELECT attempted_by[array_upper(attempted_by, 1)], args, attempt, now() - attempted_at
		  FROM river_job WHERE state = 'running' AND queue = $1
		 ORDER BY attempted_at, id`

	rows, err := q.pool.Query(ctx, find, queue.EncodeLane)
	if err != nil {
		return nil, err
	}
	running := map[string][]queue.RunningTask{}
	var worker string
	var a args
	var attempt int
	var since time.Duration
	_, err = pgx.ForEachRow(rows, []any{&worker, &a, &attempt, &since}, func() error {
		running[worker] = append(running[worker], queue.RunningTask{Task: a.task(attempt), For: max(since, 0)})
		a = args{}
		return nil
	})
	return running, err
}
