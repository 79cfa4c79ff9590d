package river

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/spool-video/spool/internal/backend/queue/executor"
)

// openHeartbeatPool opens the connection of the heartbeats. They have one of their
// own: tasks that publish a video, or wait to, may occupy all others of the
// process for minutes, and a worker without heartbeats is taken for dead.
func (q *Queue) openHeartbeatPool(ctx context.Context) (err error) {
	config := q.pool.Config() // a copy
	config.MaxConns, config.MinConns, config.MinIdleConns = 1, 0, 0
	q.beats, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
	return err
}

// sendHeartbeats writes heartbeats until ctx ends, and cancels the attempts that this
// worker has lost. After an error it tries again soon.
func (q *Queue) sendHeartbeats(ctx context.Context) {
	failed := false
	for pause := q.heartbeat; sleep(ctx, pause); {
		err := executor.Recover(func() error { return q.sendHeartbeat(ctx) })
		if err != nil && ctx.Err() == nil && !failed { // once, not with every try
			q.log.WarnContext(ctx, "the heartbeat of this worker cannot be written", append(executor.LogAttrs(err), "worker", q.id)...)
		}
		if failed = err != nil; failed {
			pause = q.heartbeat / 10
		} else {
			pause = q.heartbeat
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
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	if err := q.writeHeartbeat(ctx); err != nil {
		return err
	}
	return q.cancelLost(ctx)
}

// writeHeartbeat writes a heartbeat by the clock of the database, and counts the
// workers that did so lately. If that clock was turned back, earlier heartbeats
// lie in the future and mean nothing. The column steady_at is the time since when
// this worker was never silent for too long.
func (q *Queue) writeHeartbeat(ctx context.Context) error {
	const beat = `
		INSERT INTO queue_worker AS w (id, host, slots, version, sandbox, cores, started_at, steady_at, seen_at)
		VALUES ($1, $2, $3, $8, $9, $10, now(), now(), now())
		ON CONFLICT (id) DO UPDATE SET seen_at = now(), done = $4, failed = $5,
		       steady_at = CASE WHEN w.seen_at < now() - $6::interval OR w.steady_at > now() THEN now() ELSE w.steady_at END
		RETURNING (SELECT count(*) FROM queue_worker WHERE seen_at > now() - 2 * $7::interval)`

	var alive int64
	err := q.beats.QueryRow(ctx, beat, q.id, q.host, q.slots, q.done.Load(), q.failed.Load(), q.lostAfter, q.heartbeat,
		q.about.Version, q.about.Sandbox, q.about.Cores).Scan(&alive)
	if err != nil {
		return fmt.Errorf("write a heartbeat: %w", err)
	}
	q.alive.Store(alive)
	return nil
}

// removeWorker lets others reclaim at once what this worker has left running.
func (q *Queue) removeWorker(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	_, err := q.beats.Exec(ctx, `DELETE FROM queue_worker WHERE id = $1`, q.id)
	return err
}

// cancelLost cancels the attempts whose jobs were cancelled, or reclaimed because
// this worker was silent for too long.
func (q *Queue) cancelLost(ctx context.Context) error {
	const find = `SELECT id FROM river_job WHERE id = ANY($1) AND state = 'running' AND NOT metadata ? 'cancel_attempted_at'`

	ids := q.executor.HandlerIDs()
	if len(ids) == 0 {
		return nil
	}
	rows, err := q.beats.Query(ctx, find, ids)
	if err != nil {
		return fmt.Errorf("check the running tasks: %w", err)
	}
	ours, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return fmt.Errorf("check the running tasks: %w", err)
	}
	q.executor.Cancel(slices.DeleteFunc(ids, func(id int64) bool { return slices.Contains(ours, id) }))
	return nil
}
