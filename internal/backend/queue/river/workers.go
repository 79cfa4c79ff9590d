package river

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spool-video/spool/internal/backend/queue"
)

// Workers implements queue.Queue.
func (q *Queue) Workers(ctx context.Context) ([]queue.Worker, error) {
	const find = `
		SELECT id, host, slots, now() - started_at, greatest(now() - seen_at, interval '0'), done, failed, version, sandbox, cores
		  FROM queue_worker WHERE seen_at > now() - $1::interval
		 ORDER BY host, started_at, id`

	rows, err := q.pool.Query(ctx, find, q.lostAfter)
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

// runningByWorker returns the running tasks by the id of their worker. A cancelled
// task runs until its handler has returned.
func (q *Queue) runningByWorker(ctx context.Context) (map[string][]queue.RunningTask, error) {
	const find = `
		SELECT attempted_by[array_upper(attempted_by, 1)], args, attempt, now() - attempted_at
		  FROM river_job WHERE state = 'running' AND queue = $1
		 ORDER BY attempted_at, id`

	rows, err := q.pool.Query(ctx, find, queueName)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	running := map[string][]queue.RunningTask{}
	for rows.Next() {
		var worker string
		var a args
		var attempt int
		var since time.Duration
		if err := rows.Scan(&worker, &a, &attempt, &since); err != nil {
			return nil, err
		}
		running[worker] = append(running[worker], queue.RunningTask{Task: a.task(attempt), For: max(since, 0)})
	}
	return running, rows.Err()
}
