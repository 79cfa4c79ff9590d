// Package local is the queue of a single process: its tasks are rows of the
// SQLite database that the process owns, its workers are goroutines. It owns
// the table task. Because nobody else runs tasks of this database, what runs is
// known in memory, a task found running at start belongs to a process that
// died, and a bell rung at commit replaces polling.
package local

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/life"
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
}

// Queue implements queue.Queue. It is used once: after Stop it cannot be
// started again.
type Queue struct {
	db   *sql.DB
	read *sql.DB
	log  *slog.Logger
	now  func() time.Time

	life    *life.Life
	workers sync.WaitGroup
	bell    chan struct{} // rung when there may be something to claim

	mu     sync.Mutex
	doomed map[int64]struct{} // rows that were cancelled since a run last began
}

var _ queue.Queue = (*Queue)(nil)

// New returns a queue on db, whose schema must be up to date. db is the pool
// that writes: one connection, _txlock=immediate. Enqueue and Cancel are called
// while the caller's transaction holds that connection, so they use the
// transaction alone.
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
		db:     db,
		read:   o.Read,
		log:    o.Log,
		now:    o.Now,
		life:   life.New(o.Log, rand.Float64),
		bell:   make(chan struct{}, 1),
		doomed: map[int64]struct{}{},
	}
}

// Enqueue implements queue.Queue. All tasks go in with one statement, however
// many they are.
func (q *Queue) Enqueue(ctx context.Context, tx queue.Tx, tasks ...queue.Task) error {
	const insert = `
		INSERT INTO task (state, attempt, enqueued_at, kind, video_id, number, tenant, priority, run_at, turn)
		SELECT 'ready', 0, $1, value->>'kind', value->>'video', value->>'number', value->>'tenant',
		       value->>'priority', value->>'runAt', value->>'turn'
		  FROM json_each($2) WHERE true ORDER BY key
		    ON CONFLICT (video_id, kind, number) DO NOTHING`

	if len(tasks) == 0 {
		return nil
	}
	last, err := lastTurns(ctx, tx, tasks)
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
	tx.OnCommit(q.ring)
	return nil
}

// Cancel implements queue.Queue. The rows go at once, those of running tasks
// too, so that the same name can be enqueued again in the same transaction;
// claim keeps that new task waiting until the old run has ended.
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
		tx.OnCommit(func() { q.stopRuns(running) })
	}
	return nil
}

// Names implements queue.Queue.
func (q *Queue) Names(ctx context.Context, tx queue.Tx, id video.ID) ([]queue.Name, error) {
	return life.Names(ctx, tx, id, `SELECT kind, number FROM task WHERE video_id = $1`, id)
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

// stopRuns ends the runs of rows that a committed transaction has removed. A
// row that was claimed a moment before may have no run yet. So all are noted
// first: a run that begins too late to be found here finds itself there.
func (q *Queue) stopRuns(ids []int64) {
	q.mu.Lock()
	for _, id := range ids {
		q.doomed[id] = struct{}{}
	}
	q.mu.Unlock()
	q.life.Cancel(ids)
}

// isDoomed reports whether the row of a run that has just begun was cancelled
// before. Whatever else was noted runs, and was found, or has ended.
func (q *Queue) isDoomed(id int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, doomed := q.doomed[id]
	clear(q.doomed)
	return doomed
}

// WaitIdle implements queue.Queue.
func (q *Queue) WaitIdle(ctx context.Context, id video.ID, keep ...queue.Kind) error {
	for r := q.life.RunOf(id, keep); r != nil; r = q.life.RunOf(id, keep) {
		select {
		case <-r.Ended():
		case <-ctx.Done():
			return fmt.Errorf("wait for the tasks of video %s: %w", id, ctx.Err())
		}
	}
	return nil
}

// Stats implements queue.Queue. A cancelled task is not counted any more, even
// while its handler has not returned yet.
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

// ring wakes the dispatcher. A bell that has been rung and not heard yet is
// enough.
func (q *Queue) ring() {
	select {
	case q.bell <- struct{}{}:
	default:
	}
}
