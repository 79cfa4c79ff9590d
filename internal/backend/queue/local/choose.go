package local

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/attempts"
)

// waitingSQL lists the shares that wait on lane $1. It skips from one to the next in an index, because one
// may have a hundred thousand tasks.
const waitingSQL = `
	WITH RECURSIVE waiting (share) AS (
	     SELECT (SELECT share FROM task WHERE state = 'ready' AND lane = $1 ORDER BY share LIMIT 1)
	      UNION ALL
	     SELECT (SELECT share FROM task WHERE state = 'ready' AND lane = $1 AND share > waiting.share ORDER BY share LIMIT 1)
	       FROM waiting WHERE waiting.share IS NOT NULL
	)`

// headsSQL finds the first task of each share that waits. A name in $2 runs already: its task was cancelled
// and enqueued again.
const headsSQL = waitingSQL + `
	SELECT task.id, task.share, task.rank, task.priority, task.due_at FROM waiting JOIN task ON task.id = (
	       SELECT id FROM task AS own
	        WHERE state = 'ready' AND lane = $1 AND own.share = waiting.share
	          AND (kind, video_id, number, item) NOT IN (
	              SELECT value->>'kind', value->>'video', value->>'number', value->>'id' FROM json_each($2))
	        ORDER BY rank, priority, id LIMIT 1)`

// head is the first task of a share.
type head struct {
	id             int64
	share          string
	rank, priority int
	dueAt          int64
}

// next returns the task that gets the next place on a lane, in the order that package queue describes.
func (q *Queue) next(ctx context.Context, lane queue.Lane, pool queue.Pool) (id int64, found bool, err error) {
	heads, err := q.heads(ctx, lane)
	if err != nil {
		return 0, false, err
	}
	held, taken := q.held(lane)
	limit := lane.Limit(pool.Places, taken)
	heads = slices.DeleteFunc(heads, func(h head) bool { return held[h.share] >= limit })
	if len(heads) == 0 {
		return 0, false, nil
	}
	first := slices.MinFunc(heads, func(a, b head) int {
		return cmp.Or(
			cmp.Compare(a.rank, b.rank),
			cmp.Compare(held[a.share], held[b.share]),
			cmp.Compare(q.served[servedKey(lane, a.share)], q.served[servedKey(lane, b.share)]),
			cmp.Compare(a.priority, b.priority), cmp.Compare(a.id, b.id))
	})
	return first.id, true, nil
}

func servedKey(lane queue.Lane, share string) string { return string(lane) + "\x00" + share }

// held counts the running tasks of a lane, by share.
func (q *Queue) held(lane queue.Lane) (held map[string]int, taken int) {
	held = map[string]int{}
	for _, a := range q.running.All() {
		if a.Task.Kind.Lane() == lane {
			held[a.Task.Share()]++
			taken++
		}
	}
	return held, taken
}

func (q *Queue) heads(ctx context.Context, lane queue.Lane) ([]head, error) {
	var busy []queue.Name
	for _, a := range q.running.All() {
		busy = append(busy, a.Task.Name())
	}
	list, err := jsonList(busy)
	if err != nil {
		return nil, fmt.Errorf("choose a task: %w", err)
	}
	heads, err := attempts.Collect(ctx, q.read, func(rows *sql.Rows) (h head, err error) {
		err = rows.Scan(&h.id, &h.share, &h.rank, &h.priority, &h.dueAt)
		return h, err
	}, headsSQL, lane, list)
	if err != nil {
		return nil, fmt.Errorf("choose a task: %w", err)
	}
	return heads, nil
}

// claim marks a task as running. It finds nothing if the task was cancelled since it was chosen. After an
// error the row may be marked all the same; reclaim repairs that.
func (q *Queue) claim(ctx context.Context, id int64) (t queue.Task, found bool, err error) {
	const update = `
		UPDATE task SET state = 'running', attempt = attempt + 1 WHERE id = $1 AND state = 'ready'
		RETURNING kind, video_id, number, item, tenant, endpoint, priority, attempt, trace`

	claimed, err := attempts.Collect(ctx, q.db, func(rows *sql.Rows) (t queue.Task, err error) {
		err = rows.Scan(&t.Kind, &t.Video, &t.Number, &t.ID, &t.Tenant, &t.Endpoint, &t.Priority, &t.Attempt, &t.Trace)
		return t, err
	}, update, id)
	if err != nil {
		return t, false, fmt.Errorf("claim a task: %w", err)
	}
	if len(claimed) == 0 {
		return t, false, nil
	}
	return claimed[0], true, nil
}

// untilDue makes tasks of a lane ready whose time has come, and returns how long after now the next one is
// due, at most maxSleep. A task that would wait longer than any pause failed before the clock was turned back.
func (q *Queue) untilDue(ctx context.Context, lane queue.Lane, now time.Time) (pause time.Duration, err error) {
	const (
		next   = `SELECT min(due_at), max(due_at) FROM task WHERE state = 'later' AND lane = $1`
		update = `UPDATE task SET state = 'ready' WHERE state = 'later' AND lane = $1 AND (due_at <= $2 OR due_at > $3)`
	)
	var first, last sql.NullInt64
	if err := q.read.QueryRowContext(ctx, next, lane).Scan(&first, &last); err != nil {
		return 0, fmt.Errorf("look for due tasks: %w", err)
	}
	if !first.Valid {
		return maxSleep, nil
	}
	latest := now.Add(lane.LongestPause()).UnixMilli()
	if first.Int64 > now.UnixMilli() && last.Int64 <= latest {
		return min(maxSleep, time.UnixMilli(first.Int64).Sub(now)), nil
	}
	if _, err := q.db.ExecContext(ctx, update, lane, now.UnixMilli(), latest); err != nil {
		return 0, fmt.Errorf("make due tasks ready: %w", err)
	}
	return 0, nil
}

// countWaiting counts the tasks of a lane that are not in the background and have been due since a time, up
// to a limit.
func (q *Queue) countWaiting(ctx context.Context, lane queue.Lane, since time.Time, limit int) (n int, err error) {
	const count = waitingSQL + `
		SELECT count(*) FROM (
		       SELECT 1 FROM waiting CROSS JOIN task ON task.share = waiting.share AND lane = $1
		        WHERE state = 'ready' AND priority < $2 AND due_at <= $3 LIMIT $4)`

	if err = q.read.QueryRowContext(ctx, count, lane, queue.Background, since.UnixMilli(), limit).Scan(&n); err != nil {
		return 0, fmt.Errorf("count the tasks that wait: %w", err)
	}
	return n, nil
}

// reclaim makes tasks ready that are marked running though nothing runs them: at
// start because a process died, later because a claim was written although it
// returned an error. Neither is the task's fault, so the attempt does not count.
func (q *Queue) reclaim(ctx context.Context) error {
	const update = `
		UPDATE task SET state = 'ready', attempt = attempt - 1, rank = CASE rank WHEN 1 THEN 0 ELSE rank END
		 WHERE state = 'running' AND id NOT IN (SELECT value FROM json_each($1))`

	list, err := jsonList(q.running.Rows())
	if err == nil {
		_, err = q.db.ExecContext(ctx, update, list)
	}
	if err != nil {
		return fmt.Errorf("reclaim lost tasks: %w", err)
	}
	return nil
}
