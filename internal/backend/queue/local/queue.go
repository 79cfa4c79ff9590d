// Package local is the queue of a single process: its tasks are rows of the
// SQLite database that the process owns, its workers are goroutines. It owns the
// table task.
//
// No other process runs tasks of this database. So the running tasks are known in
// memory, a task that is found running at start belongs to a process that died,
// and a wake-up at commit replaces polling.
//
// A task that has ended has no row. Order is kept in the column turn, which holds
// the task's fair-share slot (see package queue).
package local

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/executor"
	"github.com/spool-video/spool/internal/video"
)

// Migrations make the tables of this package.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// Options are what a queue needs besides its database. Its zero value works.
type Options struct {
	Read *sql.DB          // pool for reading only; nil: the one that writes
	Log  *slog.Logger     // nil: silent
	Now  func() time.Time // nil: time.Now

	PreemptAfter time.Duration // 0: queue.PreemptAfter

	About queue.About // what this process is as a worker
}

// Queue implements queue.Queue. It is used once: after Stop it cannot be
// started again.
type Queue struct {
	db   *sql.DB
	read *sql.DB
	log  *slog.Logger
	now  func() time.Time

	executor     *executor.Executor
	workers      sync.WaitGroup
	wakeUp       chan struct{} // receives when there may be something to claim
	preemptAfter time.Duration
	self         self

	// The dispatcher's own.
	yielded map[int64]bool // tasks that were interrupted for another tenant
	looked  time.Time      // when it last looked whether one waits

	mu        sync.Mutex
	cancelled map[int64]struct{} // rows that were cancelled since an attempt last began
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
	if o.PreemptAfter == 0 {
		o.PreemptAfter = queue.PreemptAfter
	}
	return &Queue{
		db:           db,
		read:         o.Read,
		log:          o.Log,
		now:          o.Now,
		executor:     executor.New(o.Log, rand.Float64),
		wakeUp:       make(chan struct{}, 1),
		cancelled:    map[int64]struct{}{},
		preemptAfter: o.PreemptAfter,
		self:         self{about: o.About},
		yielded:      map[int64]bool{},
	}
}

// Enqueue implements queue.Queue. One statement inserts all tasks.
func (q *Queue) Enqueue(ctx context.Context, tx queue.Tx, tasks ...queue.Task) error {
	const insert = `
		INSERT INTO task (state, attempt, enqueued_at, kind, video_id, number, tenant, priority, run_at, turn, trace)
		SELECT 'ready', 0, $1, value->>'kind', value->>'video', value->>'number', value->>'tenant',
		       value->>'priority', value->>'runAt', value->>'turn', value->>'trace'
		  FROM json_each($2) WHERE true ORDER BY key
		    ON CONFLICT (video_id, kind, number) DO NOTHING`

	if len(tasks) == 0 {
		return nil
	}
	last, err := lastSlots(ctx, tx, tasks)
	if err != nil {
		return fmt.Errorf("enqueue %d tasks, the first %s: %w", len(tasks), tasks[0], err)
	}
	rows, err := jsonList(newRows(tasks, last))
	if err != nil {
		return fmt.Errorf("enqueue %d tasks: %w", len(tasks), err)
	}
	if _, err := tx.ExecContext(ctx, insert, q.now().UnixMilli(), rows); err != nil {
		return fmt.Errorf("enqueue %d tasks, the first %s: %w", len(tasks), tasks[0], err)
	}
	tx.OnCommit(q.wake)
	return nil
}

// Cancel implements queue.Queue. It deletes the rows at once, also those of
// running tasks, so that the same name can be enqueued again in the same
// transaction. claim keeps the new task waiting until the old attempt has ended.
func (q *Queue) Cancel(ctx context.Context, tx queue.Tx, id video.ID, keep ...queue.Kind) error {
	const remove = `
		DELETE FROM task
		 WHERE video_id = $1 AND kind NOT IN (SELECT value FROM json_each($2))
		RETURNING id, state`

	kinds, err := jsonList(keep)
	if err != nil {
		return fmt.Errorf("cancel the tasks of video %s: %w", id, err)
	}
	rows, err := tx.QueryContext(ctx, remove, id, kinds)
	if err != nil {
		return fmt.Errorf("cancel the tasks of video %s: %w", id, err)
	}
	running, err := runningIDs(rows)
	if err != nil {
		return fmt.Errorf("cancel the tasks of video %s: %w", id, err)
	}
	if len(running) > 0 {
		tx.OnCommit(func() { q.cancelAttempts(running) })
	}
	return nil
}

// Names implements queue.Queue.
func (q *Queue) Names(ctx context.Context, tx queue.Tx, id video.ID) ([]queue.Name, error) {
	return executor.Names(ctx, tx, id, `SELECT kind, number FROM task WHERE video_id = $1`, id)
}

// All implements queue.Queue.
func (q *Queue) All(ctx context.Context, r queue.Reader) iter.Seq2[queue.Task, error] {
	return executor.All(ctx, r, `SELECT kind, video_id, number, tenant, priority, run_at FROM task ORDER BY id`)
}

func runningIDs(rows *sql.Rows) ([]int64, error) {
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		var state string
		if err := rows.Scan(&id, &state); err != nil {
			return nil, err
		}
		if state == "running" {
			ids = append(ids, id)
		}
	}
	return ids, rows.Err()
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
	q.executor.Cancel(ids)
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

// WaitIdle implements queue.Queue.
func (q *Queue) WaitIdle(ctx context.Context, id video.ID, keep ...queue.Kind) error {
	for a := q.executor.AttemptOn(id, keep); a != nil; a = q.executor.AttemptOn(id, keep) {
		select {
		case <-a.Ended():
		case <-ctx.Done():
			return fmt.Errorf("wait for the tasks of video %s: %w", id, ctx.Err())
		}
	}
	return nil
}

// Stats implements queue.Queue. A cancelled task is not counted, even if its
// handler has not returned yet.
func (q *Queue) Stats(ctx context.Context) (map[queue.Kind]queue.Stat, error) {
	const count = `
		SELECT kind,
		       count(*) FILTER (WHERE state = 'ready'),
		       count(*) FILTER (WHERE state = 'running'),
		       coalesce(min(max(run_at, enqueued_at)) FILTER (WHERE state = 'ready' AND run_at <= $1), $1)
		  FROM task GROUP BY kind`

	now := q.now().UnixMilli()
	rows, err := q.read.QueryContext(ctx, count, now)
	if err != nil {
		return nil, fmt.Errorf("count tasks: %w", err)
	}
	defer rows.Close()
	stats := map[queue.Kind]queue.Stat{}
	for rows.Next() {
		var kind queue.Kind
		var s queue.Stat
		var due int64
		if err := rows.Scan(&kind, &s.Waiting, &s.Running, &due); err != nil {
			return nil, fmt.Errorf("count tasks: %w", err)
		}
		s.Oldest = max(0, time.Duration(now-due)*time.Millisecond)
		stats[kind] = s
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("count tasks: %w", err)
	}
	return stats, nil
}

// wake wakes the dispatcher. One pending wake-up is enough.
func (q *Queue) wake() {
	select {
	case q.wakeUp <- struct{}{}:
	default:
	}
}
