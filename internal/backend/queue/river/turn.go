package river

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/life"
	"github.com/spool-video/spool/internal/video"
)

const (
	// firstTurn is where turns begin when nothing waits and nothing runs.
	firstTurn = "2000-01-01T00:00:00Z"

	// realTime divides the turns from real times. At a thousand tasks a second
	// without a pause it is reached after a year.
	realTime = "2001-01-01T00:00:00Z"

	// turn is the distance between two turns. It is large enough for a task
	// that was handed back to stand just before its turn.
	turn = time.Millisecond
)

// desk gives out turns for the length of one Enqueue.
type desk struct {
	skew time.Duration // what the clock of the database is ahead of ours
	now  time.Time     // by the clock of the database
	last map[video.Tenant]time.Time
}

// turnsSQL finds what lookAtTurns is for. The names are written out, because
// PostgreSQL takes a partial index only for a condition that it can read.
const turnsSQL = `
	SELECT tenant, clock_timestamp(), greatest(
	       coalesce((SELECT max(scheduled_at) FROM river_job
	                  WHERE state = 'running' AND queue = '` + queueName + `' AND priority = 1 AND scheduled_at < '` + realTime + `'),
	                (SELECT min(scheduled_at) FROM river_job
	                  WHERE state = 'available' AND queue = '` + queueName + `' AND priority = 1 AND scheduled_at < '` + realTime + `') - interval '1 millisecond',
	                '` + firstTurn + `'),
	       (SELECT max(scheduled_at) FROM river_job
	         WHERE state = 'available' AND queue = '` + queueName + `' AND args->>'tenant' = tenant AND scheduled_at < '` + realTime + `'))
	  FROM unnest($1::text[]) AS tenant`

// lookAtTurns finds the last turn that each tenant of the tasks has, or the one
// that is now if that is later. Now is the latest turn of those that run; when
// nothing runs it is just before the first that waits. All of it is read from
// the ends of indexes. See lockTurns for two transactions that do so at once.
func lookAtTurns(ctx context.Context, tx queue.Tx, tasks []queue.Task) (*desk, error) {
	d := &desk{last: map[video.Tenant]time.Time{}}
	rows, err := tx.QueryContext(ctx, turnsSQL, texts(tenantsOf(tasks)))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var tenant video.Tenant
		var last time.Time
		if err := rows.Scan(&tenant, &d.now, &last); err != nil {
			return nil, err
		}
		d.last[tenant] = last
	}
	d.skew = time.Until(d.now)
	return d, rows.Err()
}

// jobs returns the jobs of tasks, in the same order, each with the turn after its
// tenant's last. The most urgent ones get the first, so that there is seldom
// something to exchange.
func (d *desk) jobs(tasks []queue.Task, busy map[queue.Name]bool) []river.InsertManyParams {
	urgent := make([]int, len(tasks))
	for i := range urgent {
		urgent[i] = i
	}
	slices.SortStableFunc(urgent, func(a, b int) int { return cmp.Compare(tasks[a].Priority, tasks[b].Priority) })
	jobs := make([]river.InsertManyParams, len(tasks))
	for _, i := range urgent {
		t := tasks[i]
		d.last[t.Tenant] = d.last[t.Tenant].Add(turn)
		jobs[i] = d.job(t, d.last[t.Tenant], d.now.UnixMicro()+int64(i), busy[t.Name()])
	}
	return jobs
}

// extra is what a job carries beside the task: its turn, also while it has to
// wait for its time, and its number in the order of enqueuing, which unlike its
// id stays the same when it goes back into the queue.
type extra struct {
	Turn time.Time `json:"turn"`
	Seq  int64     `json:"seq"`
}

func (d *desk) job(t queue.Task, at time.Time, seq int64, busy bool) river.InsertManyParams {
	a := args{Task: t.Kind, Video: t.Video, Number: t.Number, Tenant: t.Tenant, Priority: t.Priority}
	metadata, err := json.Marshal(extra{at.UTC(), seq})
	if err != nil {
		panic(err) // a year with four digits can be written
	}
	if !t.RunAt.IsZero() {
		a.RunAt = &t.RunAt
		if due := t.RunAt.Add(d.skew); due.After(d.now) {
			at = due
		}
	}
	return river.InsertManyParams{Args: a, InsertOpts: &river.InsertOpts{
		Queue: queueName, MaxAttempts: endless, ScheduledAt: at, Metadata: metadata, Pending: busy,
		UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: live},
	}}
}

// urgentSQL finds the most urgent task that waits of the tenant of a running
// one, if it is more urgent than that, and whether that one is still wanted.
const urgentSQL = `
	SELECT urgent.id FROM river_job AS ours LEFT JOIN LATERAL (
	       SELECT id FROM river_job AS waits
	        WHERE state = 'available' AND queue = '` + queueName + `' AND args->>'tenant' = ours.args->>'tenant'
	          AND ((args->>'priority')::bigint, (metadata->>'seq')::bigint)
	            < ((ours.args->>'priority')::bigint, (ours.metadata->>'seq')::bigint)
	          AND scheduled_at < '` + realTime + `'
	        ORDER BY (args->>'priority')::bigint, (metadata->>'seq')::bigint LIMIT 1) AS urgent ON true
	 WHERE ours.id = $1 AND ours.state = 'running' AND NOT ours.metadata ? 'cancel_attempted_at'`

// settle decides which task is run in a turn that was fetched a moment ago. It
// is also where a cancellation is seen that was committed before the run was
// known; one after that reaches the run. When the database does not answer,
// the task that came with the turn begins: the next beat looks again.
func (q *Queue) settle(ctx context.Context, r *life.Run) {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var urgent *int64
	err := q.pool.QueryRow(limited, urgentSQL, r.ID).Scan(&urgent)
	if err == nil && urgent != nil {
		if err = q.exchange(limited, r, *urgent); err != nil && !errors.Is(err, pgx.ErrNoRows) {
			q.log.WarnContext(ctx, "nobody knows whether a task was exchanged", "task", r.Task.String(), "err", err)
			err = q.recognize(ctx, r)
		}
	}
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		r.Cancel()
	case err != nil:
		q.log.WarnContext(ctx, "the most urgent task cannot be found", "task", r.Task.String(), "err", err)
	}
}

// exchange lets the job urgent run in the place of r's, under the id by which
// River knows this run, and gives r's the turn of the other. It fails with
// pgx.ErrNoRows when r's job is not ours any more. When the other is taken
// meanwhile, all stays as it is.
func (q *Queue) exchange(ctx context.Context, r *life.Run, urgent int64) error {
	const (
		lockOurs = `
			SELECT scheduled_at FROM river_job
			 WHERE id = $1 AND state = 'running' AND NOT metadata ? 'cancel_attempted_at' FOR UPDATE`
		lockOther = `SELECT scheduled_at FROM river_job WHERE id = $1 AND state = 'available' FOR UPDATE SKIP LOCKED`
		putBack   = `
			UPDATE river_job
			   SET id = nextval('river_job_id_seq'), state = 'available', attempt = greatest(attempt - 1, 0),
			       scheduled_at = $2, metadata = metadata || jsonb_build_object('turn', $2::timestamptz)
			 WHERE id = $1`
		take = `
			UPDATE river_job
			   SET id = $1, state = 'running', attempt = attempt + 1, attempted_at = now(), attempted_by = ARRAY[$4::text],
			       scheduled_at = $3, metadata = metadata || jsonb_build_object('turn', $3::timestamptz)
			 WHERE id = $2 RETURNING args, attempt`
	)
	var task args
	var attempt int
	err := pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
		var ours, other time.Time
		if err := tx.QueryRow(ctx, lockOurs, r.ID).Scan(&ours); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, lockOther, urgent).Scan(&other); errors.Is(err, pgx.ErrNoRows) {
			return errTaken
		} else if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, putBack, r.ID, other); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, take, r.ID, urgent, ours, q.id).Scan(&task, &attempt); err != nil {
			return err
		}
		return q.ring(ctx, tx)
	})
	if errors.Is(err, errTaken) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("exchange job %d for %d: %w", r.ID, urgent, err)
	}
	q.life.Rename(r, task.task(attempt))
	return nil
}

// recognize finds out which task the job of r is, after an exchange that failed:
// its commit may have happened all the same. It asks until it is told, because
// ending the job as that of the wrong task would lose the other for good. It
// fails with pgx.ErrNoRows when the job is not ours any more, and returns without
// an answer when r has to end: what is then done about the job is right for both.
func (q *Queue) recognize(ctx context.Context, r *life.Run) error {
	for failures := 1; ; failures++ {
		task, err := q.taskOf(ctx, r.ID)
		if err == nil {
			q.life.Rename(r, task)
			return nil
		}
		if errors.Is(err, pgx.ErrNoRows) || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(min(queue.Backoff(failures), patience)):
		case <-q.life.Stopping():
			return err
		}
	}
}

// taskOf returns the task of a job that runs and was not cancelled. It first waits
// for the end of a transaction that has its row, and only then looks: that one may
// be committing just now.
func (q *Queue) taskOf(ctx context.Context, id int64) (queue.Task, error) {
	const (
		wait = `SELECT 1 FROM river_job WHERE id = $1 FOR SHARE`
		find = `SELECT args, attempt FROM river_job WHERE id = $1 AND state = 'running' AND NOT metadata ? 'cancel_attempted_at'`
	)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := q.pool.Exec(ctx, wait, id); err != nil {
		return queue.Task{}, fmt.Errorf("wait for job %d: %w", id, err)
	}
	var task args
	var attempt int
	if err := q.pool.QueryRow(ctx, find, id).Scan(&task, &attempt); err != nil {
		return queue.Task{}, fmt.Errorf("look at job %d: %w", id, err)
	}
	return task.task(attempt), nil
}

// errTaken means that another worker has the task we wanted.
var errTaken = errors.New("the task is taken")
