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

// shareLock is the advisory lock under which a worker gives its place to another
// tenant. Without it, two workers that see the same tenant run too much would both
// give up a place, and the other tenant would run too much.
const shareLock = 0x5b00_15c7

// waitingSQL is the list of tenants that have waiting tasks. They are found by
// skipping from one to the next in an index, because one tenant may have a hundred
// thousand of them. begin is a condition without which there is no need to look.
func waitingSQL(begin string) string {
	const next = `SELECT args->>'tenant' FROM river_job WHERE state = 'available' AND queue = '` + queueName + `'`
	return `waiting (tenant) AS (
	     SELECT (` + next + ` ORDER BY args->>'tenant' LIMIT 1) ` + begin + `
	      UNION ALL
	     SELECT (` + next + ` AND args->>'tenant' > waiting.tenant ORDER BY args->>'tenant' LIMIT 1)
	       FROM waiting WHERE waiting.tenant IS NOT NULL
	)`
}

// runningSQL counts the running tasks of a tenant.
const runningSQL = `SELECT count(*) FROM river_job WHERE state = 'running' AND queue = '` + queueName + `' AND args->>'tenant' = `

// underservedSQL finds the next slot of a tenant that runs fewer tasks than the tenant of
// a running job runs beside that job. Tasks of spare time take no other task's place.
var underservedSQL = `
	WITH RECURSIVE ours AS (
	     SELECT args->>'tenant' AS tenant, priority, (` + runningSQL + `job.args->>'tenant') - 1 AS others
	       FROM river_job AS job WHERE id = $1 AND state = 'running'
	), ` + waitingSQL(`FROM ours WHERE others > 0`) + `
	SELECT first.id
	  FROM ours, waiting,
	       LATERAL (` + runningSQL + `waiting.tenant) AS theirs (tasks),
	       LATERAL (SELECT id, scheduled_at, priority FROM river_job
	                 WHERE state = 'available' AND queue = '` + queueName + `' AND args->>'tenant' = waiting.tenant
	                   AND scheduled_at < '` + realTime + `'
	                 ORDER BY scheduled_at LIMIT 1) AS first
	 WHERE waiting.tenant <> ours.tenant AND theirs.tasks < ours.others AND first.priority <= ours.priority
	 ORDER BY theirs.tasks, first.scheduled_at, first.id LIMIT 1`

// maxShareTries is how often a worker looks for another tenant whose task it may run,
// while other workers take the ones it finds.
const maxShareTries = 5

// shareOut gives a the task of another tenant, if there still is one that runs fewer
// tasks and waits.
func (q *Queue) shareOut(ctx context.Context, a *executor.Attempt) error {
	for range maxShareTries {
		if err := q.swap(ctx, a, q.takeUnderserved); !errors.Is(err, errTaken) {
			return err
		}
	}
	return nil
}

// takeUnderserved puts a's job back into its slot and takes the job of another tenant, if
// there is still one to prefer.
func (q *Queue) takeUnderserved(ctx context.Context, tx pgx.Tx, a *executor.Attempt) (task queue.Task, err error) {
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, shareLock); err != nil {
		return task, err
	}
	var other int64
	err = tx.QueryRow(ctx, underservedSQL, a.ID).Scan(&other)
	if errors.Is(err, pgx.ErrNoRows) {
		return a.Task, nil
	}
	if err != nil {
		return task, err
	}
	return q.replace(ctx, tx, a, other, false)
}

// yieldSQL puts the youngest task of the tenant that runs most tasks back into the
// queue, if that tenant runs several and another one has waited for long and runs
// none. Tasks of spare time come first, even a tenant's only one. The new id fences off
// the attempt: its worker finds with its next heartbeat that it is not wanted any more.
// Until then, and until its place is taken, no other task is interrupted. A job that was fetched a moment ago does not count: its worker
// may be about to run another tenant's instead. It looks at the first few tasks of
// each tenant that waits.
var yieldSQL = `
	WITH RECURSIVE rich AS (
	     SELECT args->>'tenant' AS tenant, count(*) AS tasks FROM river_job
	      WHERE state = 'running' AND queue = '` + queueName + `' AND attempted_at < now() - $4::interval
	      GROUP BY 1 HAVING count(*) > 1 OR max(priority) > 1
	), ` + waitingSQL(`WHERE EXISTS (SELECT 1 FROM rich)`) + `, victim AS (
	     SELECT job.id FROM river_job AS job JOIN rich ON rich.tenant = job.args->>'tenant'
	      WHERE job.state = 'running' AND job.queue = '` + queueName + `' AND job.attempted_at < now() - $4::interval
	        AND NOT job.metadata ?| ARRAY['cancel_attempted_at', 'yielded']
	        AND EXISTS (
	            SELECT 1 FROM waiting, LATERAL (
	                   SELECT args, metadata, created_at FROM river_job
	                    WHERE state = 'available' AND queue = '` + queueName + `' AND args->>'tenant' = waiting.tenant
	                      AND scheduled_at < '` + realTime + `'
	                    ORDER BY scheduled_at LIMIT 20) AS task
	             WHERE waiting.tenant > '' AND (` + runningSQL + `waiting.tenant) = 0
	               AND (task.args->>'priority')::bigint < $1
	               AND coalesce(to_timestamp((task.metadata->>'due')::float8), task.created_at) <= now() - $2::interval)
	      ORDER BY job.priority DESC, rich.tasks DESC, job.attempted_at DESC, job.id DESC LIMIT 1
	        FOR UPDATE OF job SKIP LOCKED
	), allowed AS (
	     UPDATE queue_yield SET at = now() FROM victim WHERE at < now() - $3::interval RETURNING victim.id AS job
	)
	` + requeueSQL + `, metadata = metadata || '{"yielded": true}' FROM allowed WHERE id = job`

// dueSQL counts the tasks that somebody waits for and that have been due for a while.
// It looks at the first few.
const dueSQL = `
	SELECT count(*) FROM (
	       SELECT args, metadata, created_at FROM river_job
	        WHERE state = 'available' AND queue = '` + queueName + `' AND priority = 1 AND scheduled_at < '` + realTime + `'
	        ORDER BY scheduled_at, id LIMIT 200) AS task
	 WHERE (args->>'priority')::bigint < $1
	   AND coalesce(to_timestamp((metadata->>'due')::float8), created_at) <= now() - $2::interval`

// yieldSpare interrupts tasks of spare time that run here, if this worker has no free
// slot and other tasks are due. Of those that are due, it serves its share: some other
// workers do the same at this moment. Unlike preempt it needs no database to end an
// attempt, so that its slot is free at once.
func (q *Queue) yieldSpare(ctx context.Context) error {
	if q.executor.Spare() == 0 || len(q.executor.IDs()) < q.slots {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var due int
	if err := q.pool.QueryRow(ctx, dueSQL, queue.Background, min(q.preemptAfter, queue.PreemptSpareAfter)).Scan(&due); err != nil {
		return fmt.Errorf("count the due tasks: %w", err)
	}
	share := float64(due) / float64(min(max(q.alive.Load(), 1), maintainers))
	if n := q.executor.YieldSpare(int(share + q.random())); n > 0 {
		q.log.InfoContext(ctx, "tasks of spare time were put back, because others are due", "tasks", n)
	}
	return nil
}

// chosenAfter is the age at which a running job is surely the one that its worker chose.
const chosenAfter = 2 * time.Second

// preempt interrupts a task for a tenant that has waited for long.
func (q *Queue) preempt(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	tag, err := q.pool.Exec(ctx, yieldSQL, queue.Background, q.preemptAfter, 2*q.heartbeat, chosenAfter)
	if err != nil {
		return fmt.Errorf("interrupt a task for another tenant: %w", err)
	}
	if tag.RowsAffected() > 0 {
		q.log.InfoContext(ctx, "a task was put back, because another tenant waits and runs none")
	}
	return nil
}
