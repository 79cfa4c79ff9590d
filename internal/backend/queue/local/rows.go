package local

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/life"
)

// claimed is a task that this process has just made its own.
type claimed struct {
	id   int64
	task queue.Task
}

// names returns the names of what runs.
func (q *Queue) names() []queue.Name {
	var names []queue.Name
	for _, t := range q.life.Tasks() {
		names = append(names, t.Name())
	}
	return names
}

// claimSQL takes the next turn for the most urgent task of its tenant. The task
// that came with the turn, if that is another one, gets the other's turn for it.
// Only due tasks take part whose name is not busy. A name can be busy and ready
// at once when its running task was cancelled and enqueued again.
const claimSQL = `
	WITH busy AS (
	     SELECT value->>'kind', value->>'video', value->>'number' FROM json_each($2)
	), next AS (
	     SELECT id, tenant, turn FROM task
	      WHERE state = 'ready' AND run_at <= $1 AND (kind, video_id, number) NOT IN busy
	      ORDER BY turn, id LIMIT 1
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
	RETURNING task.id, state = 'running', kind, video_id, number, tenant, priority, run_at, attempt`

// claim makes the next task ours. It reads to the end of the rows, which is
// where SQLite commits, so that an error of the commit is seen. After an error
// the row may be marked running all the same; setBackLost mends that.
func (q *Queue) claim(ctx context.Context, now time.Time, busy []queue.Name) (c claimed, found bool, err error) {
	list, err := jsonList(busy)
	if err != nil {
		return claimed{}, false, fmt.Errorf("claim a task: %w", err)
	}
	rows, err := q.db.QueryContext(ctx, claimSQL, now.UnixMilli(), list)
	if err != nil {
		return claimed{}, false, fmt.Errorf("claim a task: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var row claimed
		var ours bool
		var runAt int64
		t := &row.task
		err := rows.Scan(&row.id, &ours, &t.Kind, &t.Video, &t.Number, &t.Tenant, &t.Priority, &runAt, &t.Attempt)
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

// untilDue returns how long after now the next task becomes due, poll at most.
// Those due at now already are not looked at: they wait for their name, and the
// end of its run rings the bell.
func (q *Queue) untilDue(ctx context.Context, now time.Time) (time.Duration, error) {
	const next = `SELECT min(run_at) FROM task WHERE state = 'ready' AND run_at > $1`

	var due sql.NullInt64
	if err := q.db.QueryRowContext(ctx, next, now.UnixMilli()).Scan(&due); err != nil {
		return 0, fmt.Errorf("look for the next due task: %w", err)
	}
	if !due.Valid {
		return poll, nil
	}
	return min(poll, time.UnixMilli(due.Int64).Sub(now)), nil
}

// remove ends a task. It is no error that the row is gone.
func (q *Queue) remove(ctx context.Context, r *life.Run) error {
	if _, err := q.db.ExecContext(ctx, `DELETE FROM task WHERE id = $1`, r.ID); err != nil {
		return fmt.Errorf("remove task %s: %w", r.Task, err)
	}
	return nil
}

// putOff lets a task run again from due on, in its old turn. A row that Cancel
// has removed meanwhile stays away.
func (q *Queue) putOff(ctx context.Context, r *life.Run, due time.Time) error {
	const update = `UPDATE task SET state = 'ready', run_at = $1 WHERE id = $2`

	if _, err := q.db.ExecContext(ctx, update, toMilli(due), r.ID); err != nil {
		return fmt.Errorf("put task %s off: %w", r.Task, err)
	}
	return nil
}

// handBack lets a task run again at once, before all others and without having
// used an attempt.
func (q *Queue) handBack(ctx context.Context, r *life.Run) error {
	const update = `UPDATE task SET state = 'ready', run_at = 0, attempt = $1, turn = turn - 1 WHERE id = $2`

	if _, err := q.db.ExecContext(ctx, update, r.Task.Attempt-1, r.ID); err != nil {
		return fmt.Errorf("hand task %s back: %w", r.Task, err)
	}
	return nil
}

// setBackLost makes tasks ready that are marked running though nobody runs
// them: at start those of a process that died, later those of a claim that
// seemed to fail. Neither is the task's fault, so the attempt does not count.
func (q *Queue) setBackLost(ctx context.Context) error {
	const update = `
		UPDATE task SET state = 'ready', attempt = attempt - 1, turn = turn - 1
		 WHERE state = 'running' AND id NOT IN (SELECT value FROM json_each($1))`

	list, err := jsonList(q.life.IDs())
	if err != nil {
		return fmt.Errorf("set lost tasks back: %w", err)
	}
	if _, err := q.db.ExecContext(ctx, update, list); err != nil {
		return fmt.Errorf("set lost tasks back: %w", err)
	}
	return nil
}

// jsonList encodes a list that a statement takes apart with json_each. It is
// never null: x NOT IN (null) is true for no x.
func jsonList[T any](items []T) (string, error) {
	if len(items) == 0 {
		return "[]", nil
	}
	b, err := json.Marshal(items)
	return string(b), err
}

// toMilli stores a time, rounded up because a task must not run before it. The
// zero time, which means at once, is 0: due whatever happens to the clock.
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
