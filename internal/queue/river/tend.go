package river

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spool-video/spool/internal/queue"
)

// chores is how often tasks that became due are promoted, at least.
const chores = 500 * time.Millisecond

// realTime divides the places in the order from real times.
var realTime = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)

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

// sayAlive writes a beat, by the clock of the database.
func (q *Queue) sayAlive(ctx context.Context) error {
	const beat = `
		INSERT INTO queue_worker (id, seen_at) VALUES ($1, now())
		ON CONFLICT (id) DO UPDATE SET seen_at = now()`

	_, err := q.pool.Exec(ctx, beat, q.id)
	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil {
		q.beating = time.Time{}
		return fmt.Errorf("write a beat: %w", err)
	}
	if q.beating.IsZero() {
		q.beating = time.Now()
	}
	return nil
}

// sayGone makes others give back at once what this worker has left running.
func (q *Queue) sayGone(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := q.pool.Exec(ctx, `DELETE FROM queue_worker WHERE id = $1`, q.id)
	return err
}

// dropForeignRuns ends the runs whose jobs were cancelled, or given to another
// worker because this one was silent for too long.
func (q *Queue) dropForeignRuns(ctx context.Context) error {
	const find = `SELECT id FROM river_job WHERE id = ANY($1) AND state = 'running' AND NOT metadata ? 'cancel_attempted_at'`

	ids := q.working()
	if len(ids) == 0 {
		return nil
	}
	rows, err := q.pool.Query(ctx, find, ids)
	if err != nil {
		return fmt.Errorf("look after the running tasks: %w", err)
	}
	ours, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return fmt.Errorf("look after the running tasks: %w", err)
	}
	q.stopRuns(slices.DeleteFunc(ids, func(id int64) bool { return slices.Contains(ours, id) }), queue.ErrCancelled)
	return nil
}

// working returns the jobs whose handlers have not returned.
func (q *Queue) working() []int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	var ids []int64
	for id, r := range q.runs {
		if !r.ending {
			ids = append(ids, id)
		}
	}
	return ids
}

// doChores does, until ctx ends, what any process may do for all: promote tasks
// that became due, wake those whose way became free, and give back the tasks of
// workers that died.
func (q *Queue) doChores(ctx context.Context) {
	var looked time.Time // for dead workers
	failed := false
	for sleep(ctx, min(chores, q.beat/2)) {
		err := q.promote(ctx)
		if err == nil && q.mayJudge() && time.Since(looked) >= q.beat/2 {
			looked = time.Now()
			err = q.giveBack(ctx)
		}
		if err != nil && ctx.Err() == nil && !failed { // once, not twice a second
			q.log.WarnContext(ctx, "the queue cannot be tended", "err", err)
		}
		failed = err != nil
	}
}

// mayJudge reports whether the silence of others means anything. When nobody
// could reach the database, all look dead afterwards: so a worker that could not
// itself gives the others the time of a beat.
func (q *Queue) mayJudge() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.beating.IsZero() && time.Since(q.beating) >= q.beat
}

// promote gives tasks whose time has come their place in the order.
func (q *Queue) promote(ctx context.Context) error {
	const update = `
		UPDATE river_job
		   SET state = 'available', scheduled_at = (metadata->>'place')::timestamptz,
		       metadata = metadata || jsonb_build_object('due', extract(epoch FROM scheduled_at))
		 WHERE id IN (SELECT id FROM river_job
		               WHERE state IN ('available', 'retryable', 'scheduled') AND queue = $1 AND priority = 1
		                 AND scheduled_at > $2 AND scheduled_at <= now()
		                 FOR UPDATE SKIP LOCKED)`

	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tag, err := q.pool.Exec(ctx, update, queueName, realTime)
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
// that this one has fetched without knowing it, because the answer was lost.
func (q *Queue) giveBack(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
		ids, err := q.lockLost(ctx, tx)
		if err != nil {
			return fmt.Errorf("find the tasks of lost workers: %w", err)
		}
		for _, id := range ids {
			if err := q.handBack(ctx, tx, id); err != nil {
				return err
			}
		}
		if len(ids) > 0 {
			q.log.WarnContext(ctx, "tasks of a worker that is silent were given back", "tasks", len(ids))
		}
		_, err = tx.Exec(ctx, `DELETE FROM queue_worker WHERE seen_at < now() - interval '1 hour'`)
		return err
	})
}

// lockLost returns the jobs that nobody works on, in the order they were put in.
func (q *Queue) lockLost(ctx context.Context, tx pgx.Tx) ([]int64, error) {
	const find = `
		SELECT id FROM river_job
		 WHERE state = 'running' AND queue = $1
		   AND CASE WHEN attempted_by[array_upper(attempted_by, 1)] = $2
		            THEN attempted_at < now() - $3::interval AND id <> ALL($4)
		            ELSE NOT EXISTS (SELECT 1 FROM queue_worker
		                              WHERE queue_worker.id = attempted_by[array_upper(attempted_by, 1)]
		                                AND seen_at > now() - $3::interval) END
		 ORDER BY id
		   FOR UPDATE SKIP LOCKED`

	rows, err := tx.Query(ctx, find, queueName, q.id, q.lost, q.ids())
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// ids returns the jobs of all runs here. It is never NULL: x <> ALL(NULL) is
// true for no x.
func (q *Queue) ids() []int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.AppendSeq([]int64{}, maps.Keys(q.runs))
}
