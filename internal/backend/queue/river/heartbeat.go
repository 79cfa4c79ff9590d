package river

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/attempts"
	"github.com/spool-video/spool/internal/panics"
)

// openHeartbeatPool opens the connection of the heartbeats. They have one of their
// own: tasks that publish a video, or wait to, may occupy all others of the
// process for minutes, and a process without heartbeats is taken for dead.
func (q *Queue) openHeartbeatPool(ctx context.Context) (err error) {
	config := q.pool.Config() // a copy
	config.MaxConns, config.MinConns, config.MinIdleConns = 1, 0, 0
	q.beats, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
	return err
}

// sendHeartbeats writes heartbeats until ctx ends, ends the attempts that are not wanted here any more, and
// puts back what dead processes have left. After an error it tries again soon.
func (q *Queue) sendHeartbeats(ctx context.Context) {
	last, failed := time.Now(), false
	for pause := q.heartbeat; sleep(ctx, pause); {
		err := panics.Catch(func() error { return q.sendHeartbeat(ctx) })
		if err == nil {
			last, failed, pause = time.Now(), false, q.heartbeat
			continue
		}
		if ctx.Err() == nil && !failed { // once, not with every try
			q.log.WarnContext(ctx, "the heartbeat of this worker cannot be written", append(attempts.LogAttrs(err), "worker", q.id)...)
		}
		failed, pause = true, q.heartbeat/10
		if time.Since(last) >= q.lostAfter {
			q.running.Cancel(errLost, q.running.Rows()...)
		}
	}
}

// sleep waits for d and reports false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func (q *Queue) sendHeartbeat(ctx context.Context) error {
	q.mu.Lock()
	lanes := q.lanes
	if q.stopping {
		lanes = nil // it takes no new task
	}
	q.mu.Unlock()
	if err := q.writeHeartbeat(ctx, lanes); err != nil {
		return err
	}
	if err := q.endUnwanted(ctx); err != nil {
		return err
	}
	if !q.isTurn() {
		return nil
	}
	return q.rescue(ctx, q.heartbeat)
}

// writeHeartbeat writes a heartbeat by the clock of the database, and counts the processes that did so
// lately. If that clock was turned back, earlier heartbeats lie in the future and mean nothing.
func (q *Queue) writeHeartbeat(ctx context.Context, lanes map[queue.Lane]queue.Pool) error {
	const beat = `
		INSERT INTO queue_worker AS w (id, host, places, version, sandbox, cores) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (id) DO UPDATE SET seen_at = now(), places = $3, done = $7, failed = $8,
		       steady_at = CASE WHEN w.seen_at < now() - $9::interval OR w.steady_at > now() THEN now() ELSE w.steady_at END
		RETURNING (SELECT count(*) FROM queue_worker WHERE seen_at > now() - 2 * $10::interval)`

	places := map[queue.Lane]int{}
	for lane, pool := range lanes {
		places[lane] = pool.Places
	}
	text, err := json.Marshal(places)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var alive int64
	err = q.beats.QueryRow(ctx, beat, q.id, q.host, string(text), q.about.Version, q.about.Sandbox, q.about.Cores,
		q.done.Load(), q.failed.Load(), q.lostAfter, q.heartbeat).Scan(&alive)
	if err != nil {
		return fmt.Errorf("write a heartbeat: %w", err)
	}
	q.alive.Store(alive)
	return q.time.measure(ctx, q.beats)
}

// removeWorker lets others put back at once what this process has left running.
func (q *Queue) removeWorker(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	if _, err := q.beats.Exec(ctx, `DELETE FROM queue_worker WHERE id = $1`, q.id); err != nil {
		q.log.WarnContext(ctx, "the end of this worker cannot be recorded", "worker", q.id, "err", err)
	}
}

// endUnwanted ends the attempts that were cancelled, that give their place to others, or that were put back
// because this process was silent for too long.
func (q *Queue) endUnwanted(ctx context.Context) error {
	const find = `
		SELECT id, metadata ? 'yield' FROM river_job
		 WHERE id = ANY($1) AND state = 'running' AND NOT metadata ? 'cancel_attempted_at'`

	var here []int64
	for _, a := range q.running.All() {
		if !a.Completed() {
			here = append(here, a.Row)
		}
	}
	if len(here) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	rows, err := q.beats.Query(ctx, find, here)
	if err != nil {
		return fmt.Errorf("check the running tasks: %w", err)
	}
	wanted := map[int64]bool{}
	var id int64
	var yields bool
	_, err = pgx.ForEachRow(rows, []any{&id, &yields}, func() error {
		wanted[id] = true
		if yields {
			q.running.Cancel(attempts.ErrYield, id)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("check the running tasks: %w", err)
	}
	q.running.Cancel(queue.ErrCancelled, slices.DeleteFunc(here, func(id int64) bool { return wanted[id] })...)
	return nil
}

// rescueSQL puts back the tasks of dead processes, and those that this one has fetched without knowing it,
// because the answer was lost, or whose end River could not record. A task is put back as a new job; one
// that was cancelled is not. A process that was itself silent for too long puts nothing back until it has
// been there for the grace period.
const rescueSQL = `
	WITH lost AS (
	     SELECT id FROM river_job
	      WHERE state = 'running' AND queue = ANY($1)
	        AND CASE WHEN attempted_by[array_upper(attempted_by, 1)] = $2
	                 THEN attempted_at NOT BETWEEN now() - $3::interval AND now() + $3::interval AND id <> ALL($4)
	                 ELSE NOT EXISTS (SELECT 1 FROM queue_worker
	                                   WHERE queue_worker.id = attempted_by[array_upper(attempted_by, 1)]
	                                     AND seen_at BETWEEN now() - $3::interval AND now() + $3::interval) END
	        AND EXISTS (SELECT 1 FROM queue_worker
	                     WHERE id = $2 AND seen_at > now() - $3::interval AND steady_at <= now() - $5::interval)
	        FOR UPDATE SKIP LOCKED
	), closed AS (
	     UPDATE river_job SET state = 'discarded', finalized_at = now() FROM lost WHERE river_job.id = lost.id
	     RETURNING river_job.*
	)
	INSERT INTO river_job (state, attempt, args, kind, max_attempts, queue, unique_key, unique_states)
	SELECT 'available', greatest(attempt - 1, 0), args || jsonb_build_object('first', coalesce(args->'first', to_jsonb(id))),
	       kind, max_attempts, queue, unique_key, unique_states
	  FROM closed WHERE NOT metadata ? 'cancel_attempted_at'`

// rescue makes the tasks of dead processes available.
func (q *Queue) rescue(ctx context.Context, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	tag, err := q.beats.Exec(ctx, rescueSQL, toStrings(queue.Lanes), q.id, q.lostAfter, q.running.Rows(), grace)
	if err != nil {
		return fmt.Errorf("put the tasks of dead workers back: %w", err)
	}
	if tag.RowsAffected() > 0 {
		q.log.WarnContext(ctx, "tasks of a silent worker were put back", "tasks", tag.RowsAffected())
		for _, lane := range queue.Lanes {
			if err := notify(ctx, q.beats, lane); err != nil {
				return err
			}
		}
	}
	if _, err := q.beats.Exec(ctx, `DELETE FROM queue_worker WHERE seen_at < now() - interval '1 hour'`); err != nil {
		return fmt.Errorf("remove old workers: %w", err)
	}
	return nil
}
