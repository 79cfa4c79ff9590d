package river

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/attempts"
	"github.com/spool-video/spool/internal/panics"
)

const (
	// admitEvery is how long a task waits at most to be admitted after the process that should have done it died.
	admitEvery = 500 * time.Millisecond
	// troublePause is the pause after an error of the database.
	troublePause = 500 * time.Millisecond
	// admitLock is the class of the advisory locks under which processes take turns.
	admitLock = 0x5b00_15c6
)

// wake has this process look for tasks to admit. One pending wake-up is enough.
func (q *Queue) wake() {
	select {
	case q.wakeUp <- struct{}{}:
	default:
	}
}

// admitLoop admits tasks until ctx ends: when it is woken, and now and then on behalf of others.
func (q *Queue) admitLoop(ctx context.Context) {
	ticker := time.NewTicker(admitEvery)
	defer ticker.Stop()
	failed := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-q.wakeUp:
		case <-ticker.C:
			if !q.isTurn() {
				continue
			}
		}
		err := panics.Catch(func() error { return q.admitAll(ctx) })
		if err == nil {
			failed = false
			continue
		}
		if ctx.Err() == nil && !failed { // once, not with every try
			q.log.WarnContext(ctx, "tasks cannot be admitted", attempts.LogAttrs(err)...)
		}
		failed = true
		sleep(ctx, troublePause)
		q.wake()
	}
}

// busyLanesSQL finds the lanes where there is something to do. ORDER BY, min and max have PostgreSQL look at
// the end of an index, and not read the table in the hope of an early hit.
const busyLanesSQL = `
	SELECT lane FROM unnest($1::text[]) AS lane
	 WHERE (SELECT id FROM river_job WHERE queue = lane AND state = 'pending' AND priority = 1 ORDER BY args->>'share' LIMIT 1) IS NOT NULL
	    OR (SELECT min(scheduled_at) FROM river_job WHERE queue = lane AND state = 'pending' AND priority = 4) <= now()
	    OR (SELECT max(scheduled_at) FROM river_job WHERE queue = lane AND state = 'available' AND priority = 1) > now()
	    OR lane = $2 AND (SELECT max(scheduled_at) FROM river_job WHERE queue = lane AND state = 'pending' AND priority = 4) > now() + $3::interval`

// admitAll admits tasks on all lanes where there is something to do.
func (q *Queue) admitAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	rows, err := q.pool.Query(ctx, busyLanesSQL, toStrings(queue.Lanes), queue.EncodeLane, queue.EncodeLane.LongestPause())
	if err != nil {
		return fmt.Errorf("look for tasks to admit: %w", err)
	}
	lanes, err := pgx.CollectRows(rows, pgx.RowTo[queue.Lane])
	if err != nil {
		return fmt.Errorf("look for tasks to admit: %w", err)
	}
	for _, lane := range lanes {
		err := pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error { return q.admit(ctx, tx, lane) })
		if err != nil {
			return fmt.Errorf("admit tasks on lane %s: %w", lane, err)
		}
	}
	return nil
}

// dueSQL marks the tasks whose time has come. One that would wait longer than any pause was put back before
// the database's clock was turned back. One that is available waits for nothing: a process whose clock is wrong
// put it back when it stopped.
const dueSQL = `
	UPDATE river_job SET priority = 1, scheduled_at = least(scheduled_at, now())
	 WHERE id = ANY (ARRAY(
	       (SELECT id FROM river_job WHERE queue = $1 AND state = 'pending' AND priority = 4 AND scheduled_at <= now()
	         ORDER BY scheduled_at LIMIT 1000)
	       UNION ALL
	       (SELECT id FROM river_job WHERE queue = $1 AND state = 'pending' AND priority = 4 AND scheduled_at > now() + $2::interval
	         ORDER BY scheduled_at DESC LIMIT 1000)
	       UNION ALL
	       (SELECT id FROM river_job WHERE queue = $1 AND state = 'available' AND priority = 1 AND scheduled_at > now()
	         ORDER BY scheduled_at DESC LIMIT 1000)))`

// placesSQL counts the places on a lane, and how many of them are taken or promised.
const placesSQL = `
	SELECT coalesce((SELECT sum((places->>$1)::bigint) FROM queue_worker WHERE seen_at > now() - $2::interval), 0),
	       (SELECT count(*) FROM river_job WHERE queue = $1 AND state IN ('running', 'available'))`

// headSQL finds the first task of each share that waits on lane $1. It skips from one share to the next in an
// index, because one may have a hundred thousand tasks. A task whose name runs has to wait: that attempt was
// cancelled, and has not ended.
const headSQL = `
	WITH RECURSIVE blocked AS (
	     SELECT args->>'name' AS name FROM river_job WHERE queue = $1 AND state = 'running' AND metadata ? 'cancel_attempted_at'
	), head (share, urgency, age, due) AS (
	     (SELECT args->>'share', (args->>'priority')::bigint, coalesce((args->>'first')::bigint, id), scheduled_at FROM river_job
	       WHERE queue = $1 AND state = 'pending' AND priority = 1 AND args->>'name' <> ALL (ARRAY(SELECT name FROM blocked))
	       ORDER BY 1, 2, 3 LIMIT 1)
	      UNION ALL
	     SELECT next.* FROM head CROSS JOIN LATERAL (
	            SELECT args->>'share', (args->>'priority')::bigint, coalesce((args->>'first')::bigint, id), scheduled_at FROM river_job
	             WHERE queue = $1 AND state = 'pending' AND priority = 1 AND args->>'name' <> ALL (ARRAY(SELECT name FROM blocked))
	               AND args->>'share' > head.share
	             ORDER BY 1, 2, 3 LIMIT 1) AS next
	)`

// admitSQL makes at most $2 tasks of a lane available, of each share so many that it has no more than $3. It
// reads the first task of each share, and more tasks only of the $2 shares that come first.
const admitSQL = headSQL + `, held AS (
	     SELECT args->>'share' AS share, count(*) AS tasks FROM river_job
	      WHERE queue = $1 AND state IN ('running', 'available') GROUP BY 1
	), first AS (
	     SELECT share, coalesce(held.tasks, 0) AS held, served.at
	       FROM head LEFT JOIN held USING (share)
	      CROSS JOIN LATERAL (SELECT max(attempted_at) AS at FROM river_job WHERE queue = $1 AND args->>'share' = head.share) AS served
	      WHERE coalesce(held.tasks, 0) < $3
	      ORDER BY urgency >= $4, held, at NULLS FIRST, urgency, age LIMIT $2
	), candidate AS (
	     SELECT task.*, first.at, first.held + row_number() OVER (PARTITION BY first.share ORDER BY task.urgency, task.age) AS nth
	       FROM first CROSS JOIN LATERAL (
	            SELECT id, (args->>'priority')::bigint AS urgency, coalesce((args->>'first')::bigint, id) AS age FROM river_job
	             WHERE queue = $1 AND state = 'pending' AND priority = 1 AND args->>'name' <> ALL (ARRAY(SELECT name FROM blocked))
	               AND args->>'share' = first.share
	             ORDER BY 2, 3 LIMIT least($2, $3)) AS task
	)
	UPDATE river_job SET state = 'available', scheduled_at = least(scheduled_at, now())
	 WHERE state = 'pending' AND id = ANY (ARRAY(
	       SELECT id FROM candidate WHERE nth <= $3
	        ORDER BY urgency >= $4, nth, at NULLS FIRST, urgency, age LIMIT $2))`

// admit fills the free places of a lane, and wakes River's fetchers when tx commits.
func (q *Queue) admit(ctx context.Context, tx pgx.Tx, lane queue.Lane) error {
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1, hashtext($2))`, admitLock, lane); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, dueSQL, lane, lane.LongestPause()); err != nil {
		return fmt.Errorf("find due tasks: %w", err)
	}
	var places, taken int
	if err := tx.QueryRow(ctx, placesSQL, lane, q.lostAfter).Scan(&places, &taken); err != nil {
		return fmt.Errorf("count the places: %w", err)
	}
	free := places - taken
	if free <= 0 {
		return q.askToYield(ctx, tx, lane)
	}
	tag, err := tx.Exec(ctx, admitSQL, lane, free, lane.Limit(places, taken), queue.Spare)
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	return notify(ctx, tx, lane)
}

// notify wakes River's fetchers of a lane on all machines.
func notify(ctx context.Context, db interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}, lane queue.Lane) error {
	_, err := db.Exec(ctx, `SELECT pg_notify(current_schema() || '.river_insert', json_build_object('queue', $1::text)::text)`, lane)
	if err != nil {
		return fmt.Errorf("wake the workers: %w", err)
	}
	return nil
}

// yieldSpareSQL marks running tasks of spare time, the youngest first, as many as others have waited for $2.
const yieldSpareSQL = `
	WITH spare AS (
	     SELECT id, attempted_at, metadata ? 'yield' AS marked FROM river_job
	      WHERE queue = $1 AND state = 'running' AND (args->>'priority')::bigint >= $3 AND NOT metadata ? 'cancel_attempted_at'
	), waiting AS (
	     SELECT 1 FROM river_job
	      WHERE EXISTS (SELECT 1 FROM spare) AND queue = $1 AND state = 'pending' AND priority = 1 AND (args->>'priority')::bigint < $4
	        AND scheduled_at <= now() - $2::interval LIMIT (SELECT count(*) FROM spare)
	)
	UPDATE river_job SET metadata = metadata || '{"yield": true}'
	 WHERE id IN (SELECT id FROM spare WHERE NOT marked ORDER BY attempted_at DESC, id DESC
	               LIMIT greatest(0, (SELECT count(*) FROM waiting) - (SELECT count(*) FROM spare WHERE marked)))`

// yieldToOthersSQL marks running tasks, one for each share that runs none and has waited for $2: the youngest of
// the share that runs the most, but never its oldest.
const yieldToOthersSQL = headSQL + `, held AS (
	     SELECT id, args->>'share' AS share, state, attempted_at, metadata ?| '{yield,cancel_attempted_at}' AS ending FROM river_job
	      WHERE queue = $1 AND state IN ('running', 'available')
	), waiting AS (
	     SELECT 1 FROM head WHERE due <= now() - $2::interval AND share NOT IN (SELECT share FROM held)
	), task AS (
	     SELECT id, attempted_at, row_number() OVER (PARTITION BY share ORDER BY attempted_at, id) AS nth
	       FROM held WHERE state = 'running' AND NOT ending
	)
	UPDATE river_job SET metadata = metadata || '{"yield": true}'
	 WHERE id IN (SELECT id FROM task WHERE nth > 1 ORDER BY nth DESC, attempted_at DESC, id DESC
	               LIMIT greatest(0, (SELECT count(*) FROM waiting) - (SELECT count(*) FROM held WHERE ending)))`

// askToYield marks running tasks whose places others need. Their processes find the mark with the next heartbeat.
func (q *Queue) askToYield(ctx context.Context, tx pgx.Tx, lane queue.Lane) error {
	mark, args := yieldSpareSQL, []any{lane, queue.YieldsAfter, queue.Spare, queue.Background}
	if lane.Long() {
		mark, args = yieldToOthersSQL, []any{lane, queue.YieldsAfter}
	}
	tag, err := tx.Exec(ctx, mark, args...)
	if err != nil {
		return fmt.Errorf("ask tasks to yield: %w", err)
	}
	if tag.RowsAffected() > 0 {
		q.log.InfoContext(ctx, "tasks are put back, because others wait", "lane", lane, "tasks", tag.RowsAffected())
	}
	return nil
}
