package river

import (
	"context"
	"fmt"
	"time"

	"github.com/spool-video/spool/internal/backend/queue/executor"
)

// maintenanceInterval is the longest pause between two rounds of maintenance.
const maintenanceInterval = 500 * time.Millisecond

// maintainers is how many workers take part in a round of maintenance, on average.
const maintainers = 4

// maintain does, until ctx ends, what any process may do for all: promote tasks
// that became due, wake the successors of cancelled tasks, interrupt a task for a
// tenant that has waited for long, and reclaim the tasks of dead workers. The more
// workers there are, the more seldom each one does so: a
// thousand workers cost the database as much as a few.
func (q *Queue) maintain(ctx context.Context) {
	var reclaimed time.Time // when this worker last looked for dead workers
	failed := false
	for sleep(ctx, min(maintenanceInterval, q.heartbeat/2)) {
		if q.random()*float64(q.alive.Load()) >= maintainers {
			continue
		}
		err := executor.Recover(func() error {
			err := q.promote(ctx)
			if err == nil {
				err = q.yieldSpare(ctx)
			}
			if err == nil {
				err = q.preempt(ctx)
			}
			if err == nil && time.Since(reclaimed) >= q.heartbeat/2 {
				reclaimed = time.Now()
				err = q.reclaim(ctx, q.heartbeat)
			}
			return err
		})
		if err != nil && ctx.Err() == nil && !failed { // once, not twice a second
			q.log.WarnContext(ctx, "the maintenance of the queue failed", executor.LogAttrs(err)...)
		}
		failed = err != nil
	}
}

// promote gives tasks whose time has come their slot, those of both priorities. An available task with a
// real time was put back by River, at the end of a process that could not do so
// itself; that time is of the process's clock, and means now. A failed task that
// would wait longer than any backoff was scheduled before the database's clock was
// turned back: it is due as well.
func (q *Queue) promote(ctx context.Context) error {
	const update = `
		UPDATE river_job
		   SET state = 'available', scheduled_at = (metadata->>'turn')::timestamptz,
		       metadata = metadata || jsonb_build_object('due', extract(epoch FROM least(scheduled_at, now())))
		 WHERE id IN (SELECT id FROM river_job
		               WHERE state IN ('available', 'retryable', 'scheduled') AND queue = $1 AND priority IN (1, 4)
		                 AND scheduled_at > '` + realTime + `' AND (scheduled_at <= now() OR state = 'available'
		                      OR state = 'retryable' AND scheduled_at > now() + interval '2 minutes')
		                 FOR UPDATE SKIP LOCKED)`

	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	tag, err := q.pool.Exec(ctx, update, queueName)
	if err != nil {
		return fmt.Errorf("promote due tasks: %w", err)
	}
	if tag.RowsAffected() > 0 {
		if err := q.notify(ctx, q.pool); err != nil {
			return err
		}
	}
	return q.wakeSuccessors(ctx)
}

// reclaim requeues tasks whose worker has been silent for too long, and those that
// this worker has fetched without knowing it, because the answer was lost. The
// next promote wakes the successors of cancelled ones.
//
// After an outage of the database, a suspend of all machines or a change of its
// clock, every worker looks dead. So a worker that was itself silent for too long
// reclaims nothing until it has been back for the grace period.
func (q *Queue) reclaim(ctx context.Context, grace time.Duration) error {
	const update = `
		WITH lost AS (
		     SELECT id AS job, metadata ? 'cancel_attempted_at' AS cancelled FROM river_job
		      WHERE state = 'running' AND queue = $1
		        AND CASE WHEN attempted_by[array_upper(attempted_by, 1)] = $2
		                 THEN attempted_at NOT BETWEEN now() - $3::interval AND now() + $3::interval AND id <> ALL($4)
		                 ELSE NOT EXISTS (SELECT 1 FROM queue_worker
		                                   WHERE queue_worker.id = attempted_by[array_upper(attempted_by, 1)]
		                                     AND seen_at BETWEEN now() - $3::interval AND now() + $3::interval) END
		        AND EXISTS (SELECT 1 FROM queue_worker
		                     WHERE id = $2 AND seen_at > now() - $3::interval AND steady_at <= now() - $5::interval)
		        FOR UPDATE SKIP LOCKED
		), unwanted AS (
		     DELETE FROM river_job USING lost WHERE id = job AND cancelled
		), back AS (
		     ` + requeueSQL + ` FROM lost WHERE id = job AND NOT cancelled RETURNING 1
		)
		SELECT count(*) FROM back`

	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var n int
	if err := q.pool.QueryRow(ctx, update, queueName, q.id, q.lostAfter, q.executor.IDs(), grace).Scan(&n); err != nil {
		return fmt.Errorf("reclaim the tasks of lost workers: %w", err)
	}
	if n > 0 {
		q.log.WarnContext(ctx, "tasks of a silent worker were reclaimed", "tasks", n)
		if err := q.notify(ctx, q.pool); err != nil {
			return err
		}
	}
	return q.removeStale(ctx)
}

// removeStale deletes workers that are long gone, and jobs that River has closed at the
// end of a process that could not remove them.
func (q *Queue) removeStale(ctx context.Context) error {
	const (
		workers = `DELETE FROM queue_worker WHERE seen_at < now() - interval '1 hour'`
		jobs    = `DELETE FROM river_job WHERE finalized_at IS NOT NULL AND queue = $1`
	)
	if _, err := q.pool.Exec(ctx, workers); err != nil {
		return fmt.Errorf("remove old workers: %w", err)
	}
	if _, err := q.pool.Exec(ctx, jobs, queueName); err != nil {
		return fmt.Errorf("remove closed jobs: %w", err)
	}
	return nil
}
