package river

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/riverqueue/river/rivertype"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
)

const (
	queueName = "spool" // River's queue for our jobs
	jobKind   = "task"  // River's kind; ours is in the arguments, so that a new kind needs no registration

	// endless is River's limit of attempts. A task never reaches it, because the
	// count stops just below.
	endless = 32_000
)

// args is a task as River stores it. The fields marked unique are its name.
type args struct {
	Task   queue.Kind `json:"kind" river:"unique"`
	Video  video.ID   `json:"video" river:"unique"`
	Number int        `json:"number" river:"unique"`

	Tenant   video.Tenant `json:"tenant"`
	Priority int          `json:"priority"`
	RunAt    *time.Time   `json:"runAt,omitempty"`
	Trace    string       `json:"trace,omitempty"`
}

// task returns what was enqueued.
func (a args) task(attempt int) queue.Task {
	t := queue.Task{Kind: a.Task, Video: a.Video, Number: a.Number, Tenant: a.Tenant, Priority: a.Priority, Trace: a.Trace, Attempt: attempt}
	if a.RunAt != nil {
		t.RunAt = *a.RunAt
	}
	return t
}

// Kind implements river.JobArgs.
func (args) Kind() string { return jobKind }

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
	return nil
}

func (q *Queue) enqueue(ctx context.Context, tx queue.Tx, tasks []queue.Task) error {
	if err := lockVideos(ctx, tx, videosOf(tasks)...); err != nil {
		return err
	}
	busy, err := busyNames(ctx, tx, tasks)
	if err != nil {
		return err
	}
	if err := lockSlots(ctx, tx, tasks); err != nil {
		return err
	}
	slots, err := newAllocator(ctx, tx, tasks)
	if err != nil {
		return err
	}
	jobs := slots.jobs(unique(tasks), busy)
	err = withPgxTx(tx, func(tx pgx.Tx) error {
		_, err := q.insert.InsertManyTx(ctx, tx, jobs)
		return err
	})
	if err != nil {
		return err
	}
	// River notifies as well, but not if it did so a moment ago: workers may have
	// received that notification before this transaction commits.
	_, err = tx.ExecContext(ctx, notifySQL)
	return err
}

// unique drops tasks whose name another one before them has.
func unique(tasks []queue.Task) []queue.Task {
	seen := map[queue.Name]bool{}
	var first []queue.Task
	for _, t := range tasks {
		if n := t.Name(); !seen[n] {
			seen[n] = true
			first = append(first, t)
		}
	}
	return first
}

func videosOf(tasks []queue.Task) []video.ID {
	return distinct(tasks, func(t queue.Task) video.ID { return t.Video })
}

func tenantsOf(tasks []queue.Task) []video.Tenant {
	return distinct(tasks, func(t queue.Task) video.Tenant { return t.Tenant })
}

// distinct returns the distinct values of a property of the tasks.
func distinct[T comparable](tasks []queue.Task, of func(queue.Task) T) []T {
	var all []T
	for _, t := range tasks {
		if v := of(t); !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// lockVideos keeps other transactions from enqueuing or cancelling tasks of these
// videos until tx ends. Without it two transactions that want the same names in
// different orders would deadlock, and Enqueue would not see that the name it
// wants is being cancelled while its attempt goes on.
func lockVideos(ctx context.Context, tx queue.Tx, ids ...video.ID) error {
	return lock(ctx, tx, videoLocks, ids)
}

// lockSlotsFrom is the number of tasks from which on Enqueue locks the slots.
const lockSlotsFrom = 10

// lockSlots keeps other transactions from allocating slots of the same tenants
// until tx ends. Without it several large videos that a tenant uploads at once
// would get the same slots, hundreds of tasks in each, and other tenants would
// wait for all of them. A few tasks may share a slot with others: the wait grows
// only a little.
func lockSlots(ctx context.Context, tx queue.Tx, tasks []queue.Task) error {
	if len(tasks) < lockSlotsFrom {
		return nil
	}
	return lock(ctx, tx, tenantLocks, tenantsOf(tasks))
}

// The classes of our advisory locks.
const (
	videoLocks  = 0x5b00_15c5
	tenantLocks = 0x5b00_15c6
)

// lock takes the advisory locks of a class for these names, until tx ends.
func lock[T ~string](ctx context.Context, tx queue.Tx, class int32, names []T) error {
	var keys []int32
	for _, n := range names {
		h := fnv.New32a()
		h.Write([]byte(n))
		keys = append(keys, int32(h.Sum32()))
	}
	slices.Sort(keys) // the same order in every transaction, so that none deadlock
	_, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1, key) FROM unnest($2::int4[]) AS key`, class, keys)
	return err
}

// notifySQL wakes River's fetchers on all machines once the transaction commits.
const notifySQL = `SELECT pg_notify(current_schema() || '.river_insert', '{"queue": "` + queueName + `"}')`

// dueAtOnce corrects River, which schedules every job that carries a time. Times
// before 2001 are slots.
func dueAtOnce(_ context.Context, job *rivertype.JobInsertParams) error {
	if job.State == rivertype.JobStateScheduled && job.ScheduledAt.Year() < 2001 {
		job.State = rivertype.JobStateAvailable
	}
	return nil
}

// busyNames returns the names whose cancelled attempt has not ended yet. A task of
// such a name is inserted as pending, and becomes available when that attempt
// ends. The attempt cannot end before this transaction commits, because its row is
// locked; otherwise it might look for its successor too early.
func busyNames(ctx context.Context, tx queue.Tx, tasks []queue.Task) (map[queue.Name]bool, error) {
	const find = `
		SELECT args->>'kind', args->>'video', (args->>'number')::bigint
		  FROM river_job
		 WHERE state = 'running' AND queue = $1 AND args->>'video' = ANY($2) AND metadata ? 'cancel_attempted_at'
		   FOR SHARE`

	rows, err := tx.QueryContext(ctx, find, queueName, toStrings(videosOf(tasks)))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	busy := map[queue.Name]bool{}
	for rows.Next() {
		var n queue.Name
		if err := rows.Scan(&n.Kind, &n.Video, &n.Number); err != nil {
			return nil, err
		}
		busy[n] = true
	}
	return busy, rows.Err()
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
