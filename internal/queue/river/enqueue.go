package river

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/spool-video/spool/internal/queue"
	"github.com/spool-video/spool/internal/video"
)

const (
	queueName = "spool" // River's queue for our jobs
	jobKind   = "task"  // River's kind; ours is among the arguments, so that a new one needs no registration

	// endless is River's limit of attempts, which a task never reaches: the
	// count stops before it.
	endless = 32_000
)

// args is a task as River keeps it. The fields marked unique are its name.
type args struct {
	Task     queue.Kind `json:"kind" river:"unique"`
	Video    video.ID   `json:"video" river:"unique"`
	Number   int        `json:"number" river:"unique"`
	Priority int        `json:"priority"`
	RunAt    *time.Time `json:"runAt,omitempty"`
}

// Kind implements river.JobArgs.
func (args) Kind() string { return jobKind }

// name is what only one task at a time may be called.
type name struct {
	kind   queue.Kind
	video  video.ID
	number int
}

func nameOf(t queue.Task) name { return name{t.Kind, t.Video, t.Number} }

// live are the states of a task that waits or runs.
var live = []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
	rivertype.JobStateRunning, rivertype.JobStateScheduled,
}

// place is where a due task stands in the order, as a time: see the package
// comment.
func place(priority int) time.Time {
	const most = 1_000_000
	return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(min(max(priority, -most), most)) * time.Second)
}

// Enqueue implements queue.Queue. All tasks go in with one statement, however
// many they are.
func (q *Queue) Enqueue(ctx context.Context, tx queue.Tx, tasks ...queue.Task) error {
	if len(tasks) == 0 {
		return nil
	}
	if err := q.enqueue(ctx, tx, tasks); err != nil {
		return fmt.Errorf("enqueue %d tasks, the first %s: %w", len(tasks), tasks[0], err)
	}
	return nil
}

func (q *Queue) enqueue(ctx context.Context, tx queue.Tx, tasks []queue.Task) error {
	busy, err := busyNames(ctx, tx, tasks)
	if err != nil {
		return err
	}
	seen := map[name]bool{}
	var jobs []river.InsertManyParams
	for _, t := range tasks {
		if n := nameOf(t); !seen[n] {
			seen[n] = true
			jobs = append(jobs, newJob(t, busy[n]))
		}
	}
	err = raw(tx, func(tx pgx.Tx) error {
		_, err := q.insert.InsertManyTx(ctx, tx, jobs)
		return err
	})
	if err != nil {
		return err
	}
	// River rings as well, but not when it did so a moment ago: its last bell
	// may have been heard before this transaction commits.
	_, err = tx.ExecContext(ctx, ringSQL)
	return err
}

// ringSQL wakes River's fetchers on all machines once the transaction commits.
const ringSQL = `SELECT pg_notify(current_schema() || '.river_insert', '{"queue": "` + queueName + `"}')`

func newJob(t queue.Task, busy bool) river.InsertManyParams {
	a := args{Task: t.Kind, Video: t.Video, Number: t.Number, Priority: t.Priority}
	at := place(t.Priority)
	metadata, err := json.Marshal(map[string]time.Time{"place": at})
	if err != nil {
		panic(err) // a year with four digits can be written
	}
	if !t.RunAt.IsZero() {
		a.RunAt = &t.RunAt
		if t.RunAt.After(time.Now()) {
			at = t.RunAt
		}
	}
	return river.InsertManyParams{Args: a, InsertOpts: &river.InsertOpts{
		Queue: queueName, MaxAttempts: endless, ScheduledAt: at, Metadata: metadata, Pending: busy,
		UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: live},
	}}
}

// dueAtOnce corrects River, which takes every job with a time for one that has
// to wait.
func dueAtOnce(_ context.Context, job *rivertype.JobInsertParams) error {
	if job.State == rivertype.JobStateScheduled && job.ScheduledAt.Before(realTime) {
		job.State = rivertype.JobStateAvailable
	}
	return nil
}

// busyNames returns the names whose cancelled run has not ended yet. A task of
// such a name is put in as pending, and becomes available when that run ends.
// Until this transaction commits the run cannot end, because its row is locked:
// else it might look for whom it kept waiting a moment too early.
func busyNames(ctx context.Context, tx queue.Tx, tasks []queue.Task) (map[name]bool, error) {
	const find = `
		SELECT args->>'kind', args->>'video', (args->>'number')::bigint
		  FROM river_job
		 WHERE state = 'running' AND queue = $1 AND args->>'video' = ANY($2) AND metadata ? 'cancel_attempted_at'
		   FOR SHARE`

	var videos []string
	for _, t := range tasks {
		if id := string(t.Video); !slices.Contains(videos, id) {
			videos = append(videos, id)
		}
	}
	rows, err := tx.QueryContext(ctx, find, queueName, videos)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	busy := map[name]bool{}
	for rows.Next() {
		var n name
		if err := rows.Scan(&n.kind, &n.video, &n.number); err != nil {
			return nil, err
		}
		busy[n] = true
	}
	return busy, rows.Err()
}

// Cancel implements queue.Queue. Waiting tasks go at once. Running ones lose
// their name, so that it can be enqueued again in the same transaction, and are
// marked; their workers hear of it from River when the transaction commits, and
// find the mark with their next beat if they did not.
func (q *Queue) Cancel(ctx context.Context, tx queue.Tx, id video.ID, keep ...queue.Kind) error {
	if err := q.cancel(ctx, tx, id, keep); err != nil {
		return fmt.Errorf("cancel the tasks of video %s: %w", id, err)
	}
	return nil
}

func (q *Queue) cancel(ctx context.Context, tx queue.Tx, id video.ID, keep []queue.Kind) error {
	waiting, running, err := lockTasks(ctx, tx, id, keep)
	if err != nil {
		return err
	}
	if len(waiting) > 0 {
		if _, err := tx.ExecContext(ctx, `DELETE FROM river_job WHERE id = ANY($1)`, waiting); err != nil {
			return err
		}
	}
	if len(running) == 0 {
		return nil
	}
	const unname = `UPDATE river_job SET unique_key = NULL, unique_states = NULL WHERE id = ANY($1)`
	if _, err := tx.ExecContext(ctx, unname, running); err != nil {
		return err
	}
	err = raw(tx, func(tx pgx.Tx) error {
		for _, job := range running {
			if _, err := q.insert.JobCancelTx(ctx, tx, job); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	tx.OnCommit(func() { q.stopRuns(running, queue.ErrCancelled) })
	return nil
}

// lockTasks locks the tasks of a video that are not cancelled and returns the
// ids of their jobs. It locks them first and changes them afterwards: a task
// that just began or went back into the queue has its new id and state then.
func lockTasks(ctx context.Context, tx queue.Tx, id video.ID, keep []queue.Kind) (waiting, running []int64, err error) {
	const lock = `
		SELECT id, state = 'running'
		  FROM river_job
		 WHERE queue = $1 AND args->>'video' = $2 AND args->>'kind' <> ALL($3)
		   AND finalized_at IS NULL AND NOT metadata ? 'cancel_attempted_at'
		 ORDER BY id
		   FOR UPDATE`

	rows, err := tx.QueryContext(ctx, lock, queueName, id, texts(keep))
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var job int64
		var runs bool
		if err := rows.Scan(&job, &runs); err != nil {
			return nil, nil, err
		}
		if runs {
			running = append(running, job)
		} else {
			waiting = append(waiting, job)
		}
	}
	return waiting, running, rows.Err()
}

// texts returns kinds as PostgreSQL takes them. It is never NULL: x <> ALL(NULL)
// is true for no x.
func texts(kinds []queue.Kind) []string {
	all := make([]string, len(kinds))
	for i, k := range kinds {
		all[i] = string(k)
	}
	return all
}

// raw gives f the caller's transaction in the form that River knows.
func raw(tx queue.Tx, f func(pgx.Tx) error) error {
	t, ok := tx.(interface{ Raw(func(any) error) error })
	if !ok {
		return errors.New("the transaction does not give access to its connection")
	}
	return t.Raw(func(conn any) error {
		c, ok := conn.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("the transaction runs on a %T, not on PostgreSQL", conn)
		}
		return f(borrowedTx{c.Conn()})
	})
}

type pgxConn = pgx.Conn

// borrowedTx is a transaction that somebody else has begun and will end.
type borrowedTx struct{ *pgxConn }

func (borrowedTx) Commit(context.Context) error   { return nil }
func (borrowedTx) Rollback(context.Context) error { return nil }
func (borrowedTx) LargeObjects() pgx.LargeObjects { return pgx.LargeObjects{} }
func (t borrowedTx) Conn() *pgx.Conn              { return t.pgxConn }
