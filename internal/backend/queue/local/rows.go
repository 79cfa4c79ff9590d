package local

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/executor"
)

// claimed is a task that this process has just claimed.
type claimed struct {
	id   int64
	task queue.Task
}

// runningNames returns the names of the running tasks.
func (q *Queue) runningNames() []queue.Name {
	var names []queue.Name
	for _, t := range q.executor.Tasks() {
		names = append(names, t.Name())
	}
	return names
}

// tenantsSQL begins a query about the tenants: what each one runs, and which ones
// have waiting tasks. The latter are found by skipping from one to the next in an
// index, because one tenant may have a hundred thousand of them.
const tenantsSQL = `
	WITH RECURSIVE held AS (
	     SELECT tenant, count(*) AS tasks FROM task WHERE state = 'running' GROUP BY tenant
	), waiting (tenant) AS (
	     SELECT (SELECT tenant FROM task WHERE state = 'ready' ORDER BY tenant LIMIT 1)
	      UNION ALL
	     SELECT (SELECT tenant FROM task WHERE state = 'ready' AND tenant > waiting.tenant ORDER BY tenant LIMIT 1)
	       FROM waiting WHERE waiting.tenant IS NOT NULL
	)`

// claimSQL takes the next slot of the tenants that run the fewest tasks, those of spare
// time last, and claims
// the most urgent task of the slot's tenant. If the slot belonged to another task of
// the tenant, the two tasks swap slots. Only tasks take part that are due and whose
// name is not running. A name can be running and ready at once if its running task
// was cancelled and enqueued again. The column turn holds the slot.
const claimSQL = tenantsSQL + `, busy AS (
	     SELECT value->>'kind', value->>'video', value->>'number' FROM json_each($2)
	), next AS (
	     SELECT task.id, task.tenant, task.turn
	       FROM waiting
	       JOIN task ON task.id = (
	            SELECT id FROM task AS own
	             WHERE state = 'ready' AND own.tenant = waiting.tenant AND run_at <= $1 AND (kind, video_id, number) NOT IN busy
	             ORDER BY turn, id LIMIT 1)
	       LEFT JOIN held ON held.tenant = waiting.tenant
	      ORDER BY task.priority >= $3, coalesce(held.tasks, 0), task.turn, task.id LIMIT 1
	), urgent AS (
	     SELECT id, turn FROM task
	      WHERE state = 'ready' AND run_at <= $1 AND (kind, video_id, number) NOT IN busy
	        AND tenant = (SELECT tenant FROM next)
	      ORDER BY priority, id LIMIT 1
	)
	UPDATE task
	   SET state   = CASE task.id WHEN urgent.id THEN 'running' ELSE 'ready' END,
	       attempt = attempt + (task.id = urgent.id),
	       turn    = CASE task.id WHEN urgent.id THEN next.turn ELSE urgent.turn END
	  FROM next, urgent
	 WHERE task.id IN (next.id, urgent.id)
	RETURNING task.id, state = 'running', kind, video_id, number, tenant, priority, run_at, attempt, trace`

// claim claims the next task. It reads to the end of the rows, which is where
// SQLite commits, so that it sees an error of the commit. After an error the row
// may be marked running all the same; reclaim repairs that.
func (q *Queue) claim(ctx context.Context, now time.Time, busy []queue.Name) (c claimed, found bool, err error) {
	list, err := jsonList(busy)
	if err != nil {
		return claimed{}, false, fmt.Errorf("claim a task: %w", err)
	}
	rows, err := q.db.QueryContext(ctx, claimSQL, now.UnixMilli(), list, queue.Spare)
	if err != nil {
		return claimed{}, false, fmt.Errorf("claim a task: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var row claimed
		var ours bool
		var runAt int64
		t := &row.task
		err := rows.Scan(&row.id, &ours, &t.Kind, &t.Video, &t.Number, &t.Tenant, &t.Priority, &runAt, &t.Attempt, &t.Trace)
		if err != nil {
			return claimed{}, false, fmt.Errorf("claim a task: %w", err)
		}
		if ours {
			t.RunAt = fromMilli(runAt)
			c, found = row, true
		}
	}
	if err := rows.Err(); err != nil {
		return claimed{}, false, fmt.Errorf("claim a task: %w", err)
	}
	return c, found, nil
}

// untilDue returns how long after now the next task becomes due, at most maxSleep.
// Tasks that are due already are not counted: they wait for their name, and the
// end of the attempt with that name wakes the dispatcher.
func (q *Queue) untilDue(ctx context.Context, now time.Time) (time.Duration, error) {
	const next = `SELECT min(run_at), max(CASE WHEN attempt > 0 THEN run_at END) FROM task WHERE state = 'ready' AND run_at > $1`

	var due, last sql.NullInt64
	if err := q.db.QueryRowContext(ctx, next, now.UnixMilli()).Scan(&due, &last); err != nil {
		return 0, fmt.Errorf("look for the next due task: %w", err)
	}
	if !due.Valid {
		return maxSleep, nil
	}
	if last.Int64 > now.Add(longestPause).UnixMilli() {
		if err := q.shortenPauses(ctx, now); err != nil {
			return 0, err
		}
	}
	return min(maxSleep, time.UnixMilli(due.Int64).Sub(now)), nil
}

// longestPause is longer than any pause before a retry (see queue.Backoff).
const longestPause = 2 * time.Minute

// shortenPauses has tasks that failed run soon if they are to run much later. Their failure was recorded
// while the clock of this machine was ahead, and it has been set back since.
func (q *Queue) shortenPauses(ctx context.Context, now time.Time) error {
	const update = `UPDATE task SET run_at = $1 WHERE state = 'ready' AND attempt > 0 AND run_at > $2`

	soon := now.Add(queue.Backoff(1))
	if _, err := q.db.ExecContext(ctx, update, toMilli(soon), now.Add(longestPause).UnixMilli()); err != nil {
		return fmt.Errorf("shorten the pauses of tasks: %w", err)
	}
	return nil
}

// dueSQL counts tasks of a priority below $2 that were due at $1, up to $3. It skips those of spare
// time in an index; a CROSS JOIN keeps SQLite from reading all tasks first.
const dueSQL = tenantsSQL + `
	SELECT count(*) FROM (
	       SELECT 1 FROM waiting CROSS JOIN task ON task.tenant = waiting.tenant
	        WHERE state = 'ready' AND priority < $2 AND run_at <= $1 AND enqueued_at <= $1 LIMIT $3)`

// countDue counts the tasks that somebody waits for and that were due at a time, up to a limit.
func (q *Queue) countDue(ctx context.Context, at time.Time, limit int) (n int, err error) {
	err = q.read.QueryRowContext(ctx, dueSQL, at.UnixMilli(), queue.Background, limit).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the due tasks: %w", err)
	}
	return n, nil
}

// somebodyWaits reports whether a tenant that runs nothing has waited since a time, which is some way
// before now.
func (q *Queue) somebodyWaits(ctx context.Context, since time.Time) (waits bool, err error) {
	const find = tenantsSQL + `
		SELECT EXISTS (
		       SELECT 1 FROM waiting
		        WHERE waiting.tenant > '' AND waiting.tenant NOT IN (SELECT tenant FROM held)
		          AND EXISTS (SELECT 1 FROM task
		                       WHERE state = 'ready' AND task.tenant = waiting.tenant AND priority < $2
		                         AND run_at <= $1 AND enqueued_at <= $1))`

	err = q.read.QueryRowContext(ctx, find, since.UnixMilli(), queue.Background).Scan(&waits)
	if err != nil {
		return false, fmt.Errorf("look for a tenant that waits: %w", err)
	}
	return waits, nil
}

// remove deletes a task. It is no error if the row is gone.
func (q *Queue) remove(ctx context.Context, a *executor.Attempt) error {
	if _, err := q.db.ExecContext(ctx, `DELETE FROM task WHERE id = $1`, a.ID); err != nil {
		return fmt.Errorf("remove task %s: %w", a.Task, err)
	}
	return nil
}

// retryAt makes a task run again at due, in its old slot. A row that Cancel has
// deleted meanwhile stays deleted.
func (q *Queue) retryAt(ctx context.Context, a *executor.Attempt, due time.Time) error {
	const update = `UPDATE task SET state = 'ready', run_at = $1 WHERE id = $2`

	if _, err := q.db.ExecContext(ctx, update, toMilli(due), a.ID); err != nil {
		return fmt.Errorf("schedule task %s again: %w", a.Task, err)
	}
	return nil
}

// requeue makes a task run again at once, before all others. The attempt does not
// count.
func (q *Queue) requeue(ctx context.Context, a *executor.Attempt) error {
	const update = `UPDATE task SET state = 'ready', run_at = 0, attempt = $1, turn = turn - 1 WHERE id = $2`

	if _, err := q.db.ExecContext(ctx, update, a.Task.Attempt-1, a.ID); err != nil {
		return fmt.Errorf("requeue task %s: %w", a.Task, err)
	}
	return nil
}

// reclaim makes tasks ready that are marked running though nobody runs them: at
// start those of a process that died, later those of a claim that seemed to fail.
// Neither is the task's fault, so the attempt does not count.
func (q *Queue) reclaim(ctx context.Context) error {
	const update = `
		UPDATE task SET state = 'ready', attempt = attempt - 1, turn = turn - 1
		 WHERE state = 'running' AND id NOT IN (SELECT value FROM json_each($1))`

	list, err := jsonList(q.executor.IDs())
	if err != nil {
		return fmt.Errorf("reclaim lost tasks: %w", err)
	}
	if _, err := q.db.ExecContext(ctx, update, list); err != nil {
		return fmt.Errorf("reclaim lost tasks: %w", err)
	}
	return nil
}

// jsonList encodes a list for json_each. It is never null: x NOT IN (null) is true
// for no x.
func jsonList[T any](items []T) (string, error) {
	if len(items) == 0 {
		return "[]", nil
	}
	b, err := json.Marshal(items)
	return string(b), err
}

// toMilli converts a time for the database. It rounds up, because a task must not
// run too early. The zero time, which means at once, is 0: due whatever the clock
// says.
func toMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Add(time.Millisecond - time.Nanosecond).UnixMilli()
}

func fromMilli(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
