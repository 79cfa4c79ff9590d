package river

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// chores is how often tasks that became due are promoted, at least.
const chores = 500 * time.Millisecond

// tenders is how many workers do the chores for all, on average.
const tenders = 4

// openHeart makes the connection of the beats. They have one of their own: tasks
// that publish a film, or wait to, may have all others of the process for minutes,
// and a worker that cannot say that it is alive is taken for dead.
func (q *Queue) openHeart(ctx context.Context) (err error) {
	config := q.pool.Config() // a copy
	config.MaxConns, config.MinConns, config.MinIdleConns = 1, 0, 0
	q.heart, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
	return err
}

// keepBeating says that this worker is alive until ctx ends, and ends the runs
// that are not its own any more. When it fails it tries again soon.
func (q *Queue) keepBeating(ctx context.Context) {
	failed := false
	for pause := q.beat; sleep(ctx, pause); {
		err := q.pulse(ctx)
		if err != nil && ctx.Err() == nil && !failed { // once, not with every try
			q.log.WarnContext(ctx, "this worker cannot say that it is alive", "worker", q.id, "err", err)
		}
		if failed = err != nil; failed {
			pause = q.beat / 10
		} else {
			pause = q.beat
		}
	}
}

// sleep waits for d and reports false when ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func (q *Queue) pulse(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := q.sayAlive(ctx); err != nil {
		return err
	}
	return q.dropForeignRuns(ctx)
}

// sayAlive writes a beat, by the clock of the database, and counts the workers
// that did so lately. When that clock was turned back, what it wrote before lies in
// the future and means nothing.
func (q *Queue) sayAlive(ctx context.Context) error {
	const beat = `
		INSERT INTO queue_worker AS w (id, host, slots, started_at, steady_at, seen_at)
		VALUES ($1, $2, $3, now(), now(), now())
		ON CONFLICT (id) DO UPDATE SET seen_at = now(), done = $4, failed = $5,
		       steady_at = CASE WHEN w.seen_at < now() - $6::interval OR w.steady_at > now() THEN now() ELSE w.steady_at END
		RETURNING (SELECT count(*) FROM queue_worker WHERE seen_at > now() - 2 * $7::interval)`

	var alive int64
	err := q.heart.QueryRow(ctx, beat, q.id, q.host, q.slots, q.done.Load(), q.failed.Load(), q.lost, q.beat).Scan(&alive)
	if err != nil {
		return fmt.Errorf("write a beat: %w", err)
	}
	q.alive.Store(alive)
	return nil
}

// sayGone makes others give back at once what this worker has left running.
func (q *Queue) sayGone(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := q.heart.Exec(ctx, `DELETE FROM queue_worker WHERE id = $1`, q.id)
	return err
}

// dropForeignRuns ends the runs whose jobs were cancelled, or given to another
// worker because this one was silent for too long.
func (q *Queue) dropForeignRuns(ctx context.Context) error {
	const find = `SELECT id FROM river_job WHERE id = ANY($1) AND state = 'running' AND NOT metadata ? 'cancel_attempted_at'`

	ids := q.life.Working()
	if len(ids) == 0 {
		return nil
	}
	rows, err := q.heart.Query(ctx, find, ids)
	if err != nil {
		return fmt.Errorf("look after the running tasks: %w", err)
	}
	ours, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return fmt.Errorf("look after the running tasks: %w", err)
	}
	q.life.Cancel(slices.DeleteFunc(ids, func(id int64) bool { return slices.Contains(ours, id) }))
	return nil
}

// doChores does, until ctx ends, what any process may do for all: promote tasks
// that became due, wake those whose way became free, and give back the tasks of
// workers that died. The more workers there are, the more seldom each does so:
// a thousand cost the database as much as a few.
func (q *Queue) doChores(ctx context.Context) {
	var looked time.Time // for dead workers
	failed := false
	for sleep(ctx, min(chores, q.beat/2)) {
		if q.random()*float64(q.alive.Load()) >= tenders {
			continue
		}
		err := q.promote(ctx)
		if err == nil && time.Since(looked) >= q.beat/2 {
			looked = time.Now()
			err = q.giveBack(ctx, q.beat)
		}
		if err != nil && ctx.Err() == nil && !failed { // once, not twice a second
			q.log.WarnContext(ctx, "the queue cannot be tended", "err", err)
		}
		failed = err != nil
	}
}

// promote gives tasks whose time has come their turn. Those that are available
// with a real time were put back by River, at the end of a process that could
// not do so itself; their time is that of its clock, and means now. A task that
// failed and would wait for longer than any pause lasts is one whose pause was
// begun by the same clock before that was turned back: it is due as well.
func (q *Queue) promote(ctx context.Context) error {
	const update = `
		UPDATE river_job
		   SET state = 'available', scheduled_at = (metadata->>'turn')::timestamptz,
		       metadata = metadata || jsonb_build_object('due', extract(epoch FROM least(scheduled_at, now())))
		 WHERE id IN (SELECT id FROM river_job
		               WHERE state IN ('available', 'retryable', 'scheduled') AND queue = $1 AND priority = 1
		                 AND scheduled_at > '` + realTime + `' AND (scheduled_at <= now() OR state = 'available'
		                      OR state = 'retryable' AND scheduled_at > now() + interval '2 minutes')
		                 FOR UPDATE SKIP LOCKED)`

	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tag, err := q.pool.Exec(ctx, update, queueName)
	if err != nil {
		return fmt.Errorf("promote due tasks: %w", err)
	}
	if tag.RowsAffected() > 0 {
		if err := q.ring(ctx, q.pool); err != nil {
			return err
		}
	}
	return q.wakeSuccessors(ctx, q.pool)
}

// giveBack puts tasks back whose worker has been silent for too long, and those
// that this one has fetched without knowing it, because the answer was lost. The
// successor of one that was cancelled is woken by the next promote.
//
// When nobody could reach the database, or all machines were asleep, or its clock
// was turned, everyone looks dead afterwards. So a worker that was itself silent
// for too long, or thinks so, judges nobody until it has been back for the time of
// grace.
func (q *Queue) giveBack(ctx context.Context, grace time.Duration) error {
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
		     ` + backSQL + ` FROM lost WHERE id = job AND NOT cancelled RETURNING 1
		)
		SELECT count(*) FROM back`

	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var n int
	if err := q.pool.QueryRow(ctx, update, queueName, q.id, q.lost, q.life.IDs(), grace).Scan(&n); err != nil {
		return fmt.Errorf("give back the tasks of lost workers: %w", err)
	}
	if n > 0 {
		q.log.WarnContext(ctx, "tasks of a worker that is silent were given back", "tasks", n)
		if err := q.ring(ctx, q.pool); err != nil {
			return err
		}
	}
	return q.clean(ctx)
}

// clean removes what nobody needs any more: workers that are long gone, and jobs
// that River has closed at the end of a process that could not remove them.
func (q *Queue) clean(ctx context.Context) error {
	const (
		workers = `DELETE FROM queue_worker WHERE seen_at < now() - interval '1 hour'`
		jobs    = `DELETE FROM river_job WHERE finalized_at IS NOT NULL AND queue = $1`
	)
	if _, err := q.pool.Exec(ctx, workers); err != nil {
		return fmt.Errorf("forget workers: %w", err)
	}
	if _, err := q.pool.Exec(ctx, jobs, queueName); err != nil {
		return fmt.Errorf("remove closed jobs: %w", err)
	}
	return nil
}
