package river

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/attempts"
	"github.com/spool-video/spool/internal/video"
)

const (
	jobKind = "task" // River's kind; ours is in the arguments, so that a new kind needs no registration

	// endless is River's limit of attempts. A task never reaches it: see putBackSQL.
	endless = 32_000
)

// args is a task as River stores it.
type args struct {
	Name     string       `json:"name" river:"unique"`
	Task     queue.Kind   `json:"kind"`
	Video    video.ID     `json:"video"`
	Number   int          `json:"number"`
	ID       string       `json:"id"`
	Tenant   video.Tenant `json:"tenant"`
	Endpoint string       `json:"endpoint"`
	Share    string       `json:"share"`
	Priority int          `json:"priority"`
	Trace    string       `json:"trace,omitempty"`
}

// Kind implements river.JobArgs.
func (args) Kind() string { return jobKind }

func newArgs(t queue.Task) args {
	return args{
		Name: t.String(), Task: t.Kind, Video: t.Video, Number: t.Number, ID: t.ID, Tenant: t.Tenant, Endpoint: t.Endpoint,
		Share: t.Share(), Priority: t.Priority, Trace: t.Trace,
	}
}

// task returns what was enqueued.
func (a args) task(attempt int) queue.Task {
	return queue.Task{
		Kind: a.Task, Video: a.Video, Number: a.Number, ID: a.ID, Tenant: a.Tenant, Endpoint: a.Endpoint,
		Priority: a.Priority, Trace: a.Trace, Attempt: attempt,
	}
}

// live are the states of a task that waits or runs.
var live = []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
	rivertype.JobStateRunning, rivertype.JobStateScheduled,
}

// Enqueue implements queue.Queue. One statement inserts all tasks.
func (q *Queue) Enqueue(ctx context.Context, tx queue.Tx, tasks ...queue.Task) error {
	if len(tasks) == 0 {
		return nil
	}
	if err := q.enqueue(ctx, tx, tasks); err != nil {
		return fmt.Errorf("enqueue %d tasks, the first %s: %w", len(tasks), tasks[0], err)
	}
	tx.OnCommit(q.wake)
	return nil
}

func (q *Queue) enqueue(ctx context.Context, tx queue.Tx, tasks []queue.Task) error {
	var videos []video.ID
	var jobs []river.InsertManyParams
	seen := map[queue.Name]bool{}
	for _, t := range tasks {
		if n := t.Name(); !seen[n] {
			seen[n] = true
			videos = append(videos, t.Video)
			jobs = append(jobs, newJob(t))
		}
	}
	if err := lockVideos(ctx, tx, videos...); err != nil {
		return err
	}
	return withPgxTx(tx, func(tx pgx.Tx) error {
		_, err := q.insert.InsertManyTx(ctx, tx, jobs)
		return err
	})
}

// newJob returns the job of a task.
func newJob(t queue.Task) river.InsertManyParams {
	return river.InsertManyParams{Args: newArgs(t), InsertOpts: &river.InsertOpts{
		Queue: string(t.Kind.Lane()), MaxAttempts: endless, Pending: true,
		UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: live},
	}}
}

// videoLocks is the class of our advisory locks on videos.
const videoLocks = 0x5b00_15c5

// lockVideos keeps other transactions from enqueuing or cancelling tasks of these videos until tx ends.
// Without it two transactions that want the same names in different orders would deadlock.
func lockVideos(ctx context.Context, tx queue.Tx, ids ...video.ID) error {
	_, err := tx.ExecContext(ctx, `
		SELECT pg_advisory_xact_lock($1, key)
		  FROM (SELECT DISTINCT hashtext(id) AS key FROM unnest($2::text[]) AS id WHERE id <> '' ORDER BY key) AS keys`, videoLocks, toStrings(ids))
	return err
}

// Cancel implements queue.Queue. Waiting tasks are deleted at once. Running ones
// lose their name, so that it can be enqueued again in the same transaction, and
// River is told. Its notification reaches their process when the transaction commits;
// a process that misses it finds the mark with its next heartbeat.
func (q *Queue) Cancel(ctx context.Context, tx queue.Tx, id video.ID, keep ...queue.Kind) error {
	if err := q.cancel(ctx, tx, id, keep); err != nil {
		return fmt.Errorf("cancel the tasks of video %s: %w", id, err)
	}
	return nil
}

func (q *Queue) cancel(ctx context.Context, tx queue.Tx, id video.ID, keep []queue.Kind) error {
	if err := lockVideos(ctx, tx, id); err != nil {
		return err
	}
	for { // again, because a task that is put back while its lock is awaited is a new job
		found, err := hasTasks(ctx, tx, id, keep)
		if err != nil || !found {
			return err
		}
		waiting, running, err := lockTasks(ctx, tx, id, keep)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM river_job WHERE id = ANY($1)`, waiting); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE river_job SET unique_key = NULL, unique_states = NULL WHERE id = ANY($1)`, running); err != nil {
			return err
		}
		err = withPgxTx(tx, func(tx pgx.Tx) error {
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
		tx.OnCommit(func() { q.running.Cancel(queue.ErrCancelled, running...) })
	}
}

// uncancelledSQL finds the tasks of video $1 that are not cancelled, except for kinds $2.
const uncancelledSQL = `
	  FROM river_job
	 WHERE args->>'video' = $1 AND args->>'kind' <> ALL($2) AND finalized_at IS NULL AND NOT metadata ? 'cancel_attempted_at'`

func hasTasks(ctx context.Context, tx queue.Tx, id video.ID, keep []queue.Kind) (found bool, err error) {
	err = tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1`+uncancelledSQL+`)`, id, toStrings(keep)).Scan(&found)
	return found, err
}

// lockTasks locks the tasks of a video that are not cancelled and returns the ids of their jobs.
func lockTasks(ctx context.Context, tx queue.Tx, id video.ID, keep []queue.Kind) (waiting, running []int64, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT id, state = 'running'`+uncancelledSQL+` ORDER BY id FOR UPDATE`, id, toStrings(keep))
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	waiting, running = []int64{}, []int64{}
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

// Complete implements queue.Queue.
func (q *Queue) Complete(ctx context.Context, tx queue.Tx) error {
	a := attempts.FromContext(ctx)
	if a == nil {
		return errors.New("complete a task: there is none in this context")
	}
	err := withPgxTx(tx, func(tx pgx.Tx) error { return completeJob(ctx, tx, a.Row) })
	if err != nil {
		return fmt.Errorf("complete task %s: %w", a.Task, err)
	}
	tx.OnCommit(func() {
		a.Complete()
		q.wake()
	})
	return nil
}

// completeJob has River complete a job in a transaction. ctx is what River gave the job's worker.
func completeJob(ctx context.Context, tx pgx.Tx, id int64) error {
	job := &river.Job[args]{JobRow: &rivertype.JobRow{ID: id, State: rivertype.JobStateRunning}}
	ended, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
	switch {
	case errors.Is(err, rivertype.ErrNotFound):
		return queue.ErrCancelled
	case err != nil:
		return err
	case ended.State != rivertype.JobStateCompleted || isCancelled(ended.JobRow):
		return queue.ErrCancelled
	}
	return nil
}

// isCancelled reports whether River was asked to cancel a job.
func isCancelled(job *rivertype.JobRow) bool {
	var metadata struct {
		At *string `json:"cancel_attempted_at"`
	}
	return json.Unmarshal(job.Metadata, &metadata) == nil && metadata.At != nil
}

// withPgxTx gives f the caller's transaction as a pgx.Tx, which River needs.
func withPgxTx(tx queue.Tx, f func(pgx.Tx) error) error {
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

// pgxConn avoids an embedded field named Conn: pgx.Tx has a method of that name.
type pgxConn = pgx.Conn

// borrowedTx is a transaction that the caller has begun and will end.
type borrowedTx struct{ *pgxConn }

func (borrowedTx) Commit(context.Context) error   { return nil }
func (borrowedTx) Rollback(context.Context) error { return nil }
func (borrowedTx) LargeObjects() pgx.LargeObjects { return pgx.LargeObjects{} }
func (t borrowedTx) Conn() *pgx.Conn              { return t.pgxConn }

// toStrings converts a list for PostgreSQL. It is never NULL: x <> ALL(NULL) is true
// for no x.
func toStrings[T ~string](list []T) []string {
	all := make([]string, len(list))
	for i, s := range list {
		all[i] = string(s)
	}
	return all
}
