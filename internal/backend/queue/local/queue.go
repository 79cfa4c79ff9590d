// Package local is the queue of a single process: its tasks are rows of the
// SQLite database that the process owns, its workers are goroutines. It owns the
// table task.
//
// No other process runs tasks of this database. So the running tasks are known in
// memory, a task that is found running at start belongs to a process that died,
// and a wake-up at commit replaces polling.
//
// A task is 'later' until it is due, then 'ready' until it gets a place, then
// 'running'. One that has ended has no row. When each share was last served is known
// in memory; after a restart all begin anew.
package local

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/attempts"
	"github.com/spool-video/spool/internal/video"
)

// Migrations make the tables of this package.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// Options are what a queue needs besides its database. Its zero value works.
type Options struct {
	Read  *sql.DB          // pool for reading only; nil: the one that writes
	Log   *slog.Logger     // nil: silent
	Now   func() time.Time // nil: time.Now
	About queue.About      // what this process is as a worker
}

// Queue implements queue.Queue. It is used once: after Stop it cannot be
// started again.
type Queue struct {
	db, read *sql.DB
	log      *slog.Logger
	now      func() time.Time
	about    queue.About

	running      attempts.List
	done, failed atomic.Int64  // attempts on EncodeLane, by their result
	wakeUp       chan struct{} // receives when there may be something to begin
	stopping     chan struct{} // closed by the first Stop
	abandoned    chan struct{} // closed when a Stop gave up waiting

	mu        sync.Mutex
	lanes     map[queue.Lane]queue.Pool // nil until started
	started   time.Time
	finished  chan struct{}      // closed when nothing runs any more; nil until started
	cancelled map[int64]struct{} // rows that were cancelled since an attempt last began

	// The dispatcher's own.
	served map[string]int64 // by lane and share: the last row that began, in the order of beginning
	begun  int64
}

var _ queue.Queue = (*Queue)(nil)

// New returns a queue on db, whose schema must be up to date. db is the pool that
// writes: one connection, _txlock=immediate. Enqueue and Cancel are called while
// the caller's transaction holds that connection, so they must not use the pool.
func New(db *sql.DB, o Options) *Queue {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Read == nil {
		o.Read = db
	}
	return &Queue{
		db: db, read: o.Read, log: o.Log, now: o.Now, about: o.About,
		wakeUp:    make(chan struct{}, 1),
		stopping:  make(chan struct{}),
		abandoned: make(chan struct{}),
		cancelled: map[int64]struct{}{},
		served:    map[string]int64{},
	}
}

// newRow is a task to be inserted.
type newRow struct {
	queue.Name
	Lane     queue.Lane   `json:"lane"`
	Tenant   video.Tenant `json:"tenant"`
	Endpoint string       `json:"endpoint"`
	Share    string       `json:"share"`
	Rank     int          `json:"rank"`
	Priority int          `json:"priority"`
	Trace    string       `json:"trace"`
}

// rank returns the rank of a new task.
func rank(t queue.Task) int {
	if t.Priority >= queue.Spare {
		return 2
	}
	return 1
}

// Enqueue implements queue.Queue. One statement inserts all tasks.
func (q *Queue) Enqueue(ctx context.Context, tx queue.Tx, tasks ...queue.Task) error {
	const insert = `
		INSERT INTO task (state, attempt, due_at, kind, video_id, number, item, lane, tenant, endpoint, share, rank, priority, trace)
		SELECT 'ready', 0, $1, value->>'kind', value->>'video', value->>'number', value->>'id', value->>'lane', value->>'tenant',
		       value->>'endpoint', value->>'share', value->>'rank', value->>'priority', value->>'trace'
		  FROM json_each($2) WHERE true ORDER BY key
		    ON CONFLICT (video_id, kind, number, item) DO NOTHING`

	if len(tasks) == 0 {
		return nil
	}
	rows := make([]newRow, len(tasks))
	for i, t := range tasks {
		rows[i] = newRow{t.Name(), t.Kind.Lane(), t.Tenant, t.Endpoint, t.Share(), rank(t), t.Priority, t.Trace}
	}
	list, err := jsonList(rows)
	if err == nil {
		_, err = tx.ExecContext(ctx, insert, q.now().UnixMilli(), list)
	}
	if err != nil {
		return fmt.Errorf("enqueue %d tasks, the first %s: %w", len(tasks), tasks[0], err)
	}
	tx.OnCommit(q.wake)
	return nil
}

// Cancel implements queue.Queue. It deletes the rows of waiting and of running
// tasks at once, so that the same name can be enqueued again in the same
// transaction. The new task does not begin until the old attempt has ended.
func (q *Queue) Cancel(ctx context.Context, tx queue.Tx, id video.ID, keep ...queue.Kind) error {
	running, err := removeTasks(ctx, tx, id, keep)
	if err != nil {
		return fmt.Errorf("cancel the tasks of video %s: %w", id, err)
	}
	if len(running) > 0 {
		tx.OnCommit(func() { q.cancelAttempts(running) })
	}
	return nil
}

// removeTasks deletes tasks of a video and returns the ids of those that run.
func removeTasks(ctx context.Context, tx queue.Tx, id video.ID, keep []queue.Kind) (running []int64, err error) {
	const remove = `
		DELETE FROM task
		 WHERE video_id = $1 AND kind NOT IN (SELECT value FROM json_each($2))
		RETURNING id, state = 'running'`

	kinds, err := jsonList(keep)
	if err != nil {
		return nil, err
	}
	type removed struct {
		row     int64
		running bool
	}
	all, err := attempts.Collect(ctx, tx, func(rows *sql.Rows) (r removed, err error) {
		err = rows.Scan(&r.row, &r.running)
		return r, err
	}, remove, id, kinds)
	for _, r := range all {
		if r.running {
			running = append(running, r.row)
		}
	}
	return running, err
}

// cancelAttempts ends the attempts on rows that a committed transaction has
// deleted. A row that was claimed a moment before may have no attempt yet. So all
// ids are stored first: an attempt that begins too late to be found by Cancel
// finds its id there.
func (q *Queue) cancelAttempts(ids []int64) {
	q.mu.Lock()
	for _, id := range ids {
		q.cancelled[id] = struct{}{}
	}
	q.mu.Unlock()
	q.running.Cancel(queue.ErrCancelled, ids...)
}

// wasCancelled reports whether the row of an attempt that has just begun was
// cancelled before. It clears the map: any other stored id belongs to an attempt
// that Cancel has found, or that has ended.
func (q *Queue) wasCancelled(id int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, cancelled := q.cancelled[id]
	clear(q.cancelled)
	return cancelled
}

// Complete implements queue.Queue.
func (q *Queue) Complete(ctx context.Context, tx queue.Tx) error {
	a := attempts.FromContext(ctx)
	if a == nil {
		return fmt.Errorf("complete a task: there is none in this context")
	}
	result, err := tx.ExecContext(ctx, `DELETE FROM task WHERE id = $1`, a.Row)
	if err != nil {
		return fmt.Errorf("complete task %s: %w", a.Task, err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return fmt.Errorf("complete task %s: %w", a.Task, queue.ErrCancelled)
	}
	tx.OnCommit(a.Complete)
	return nil
}

// WaitIdle implements queue.Queue.
func (q *Queue) WaitIdle(ctx context.Context, id video.ID, keep ...queue.Kind) error {
	for a := q.running.On(id, keep); a != nil; a = q.running.On(id, keep) {
		select {
		case <-a.Ended():
		case <-ctx.Done():
			return fmt.Errorf("wait for the tasks of video %s: %w", id, ctx.Err())
		}
	}
	return nil
}

// Names implements queue.Queue.
func (q *Queue) Names(ctx context.Context, tx queue.Tx, id video.ID) ([]queue.Name, error) {
	return attempts.Names(ctx, tx, id, `SELECT kind, number, item FROM task WHERE video_id = $1`, id)
}

// All implements queue.Queue.
func (q *Queue) All(ctx context.Context, r queue.Reader) iter.Seq2[queue.Task, error] {
	return attempts.All(ctx, r, `SELECT kind, video_id, number, item, tenant, endpoint, priority FROM task ORDER BY id`)
}

// Stats implements queue.Queue. A cancelled task is not counted, even if its
// handler has not returned yet.
func (q *Queue) Stats(ctx context.Context) (map[queue.Kind]queue.Stat, error) {
	return attempts.Stats(ctx, q.read, `
		SELECT kind,
		       count(*) FILTER (WHERE state <> 'running'),
		       count(*) FILTER (WHERE state = 'running'),
		       coalesce($1 - min(due_at) FILTER (WHERE state <> 'running'), 0) / 1000.0
		  FROM task GROUP BY kind`, q.now().UnixMilli())
}

// Workers implements queue.Queue. This process is the only one.
func (q *Queue) Workers(context.Context) ([]queue.Worker, error) {
	q.mu.Lock()
	pool, works := q.lanes[queue.EncodeLane]
	age := time.Since(q.started)
	q.mu.Unlock()
	if !works || q.isStopping() {
		return nil, nil
	}
	host := attempts.Host()
	return []queue.Worker{{
		About: q.about, ID: host, Host: host, Slots: pool.Places, Age: age,
		Done: q.done.Load(), Failed: q.failed.Load(), Running: q.running.Running(queue.EncodeLane),
	}}, nil
}

// wake wakes the dispatcher. One pending wake-up is enough.
func (q *Queue) wake() {
	select {
	case q.wakeUp <- struct{}{}:
	default:
	}
}

// jsonList encodes a list for json_each. It is never null: x NOT IN (null) is true
// for no x.
func jsonList[T any](items []T) (string, error) {
	if len(items) == 0 {
		return "[]", nil
	}
	b, err := json.Marshal(items)
	return string(b), err
}
