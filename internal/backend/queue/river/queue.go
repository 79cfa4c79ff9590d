// Package river is the queue of many machines: its tasks are jobs of River
// (github.com/riverqueue/river) in the PostgreSQL database they share. River
// inserts, fetches, wakes and cancels. This package adds what River leaves out: a
// heartbeat, so that the tasks of a dead worker are reclaimed within seconds, a
// fence around each attempt, fair shares between tenants, and any number of
// priorities. It owns the table queue_worker and the jobs of the queue "spool".
//
// # One id, one attempt
//
// River ends a job with an UPDATE that asks for its id and for state 'running',
// but not for the attempt. So a worker that was paused, given up and resumed could
// end the attempt of its successor. Here a task that goes back into the queue, for
// whatever reason, gets a new id in the same statement. An id thus names one
// attempt, and whatever the old worker still sends finds no row.
//
// # Order
//
// River orders jobs by one of four priorities and then by scheduled_at. Our jobs
// have the first, and those of spare time the last. A job that is due carries its
// fair-share slot (see package queue) instead of a real time: a moment in the year 2000. A job that has
// to wait carries the real time, and gets its slot when that time has come; until
// then the slot is in its metadata, under the key "turn". A worker that has
// fetched a job checks whether another tenant runs fewer tasks; then it runs that
// tenant's job instead. It also checks whether the tenant has a more urgent job; then
// the two jobs swap slots. See chooseTask.
//
// # Dead workers
//
// A worker writes a heartbeat every 5 seconds, on a connection of its own. If it
// is silent for three heartbeats, another worker reclaims its tasks. If it was
// only paused, its next heartbeat finds that its jobs are gone, and cancels its
// attempts. A worker that was itself silent for too long reclaims nothing until it
// has been back for a while, because after an outage of the database everybody
// looks dead.
//
// # Time
//
// Times that several machines compare are written by the database's clock. Local
// clocks only measure pauses, and a task's RunAt counts as its distance from the
// local now.
package river

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/executor"
	"github.com/spool-video/spool/internal/backend/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Options are what a queue needs besides its database. Its zero value works.
type Options struct {
	Log *slog.Logger // nil: silent

	// Heartbeat is the interval of a worker's heartbeats; 0: every 5 s. A worker
	// that is silent for LostAfter loses its tasks; 0: three heartbeats.
	Heartbeat, LostAfter time.Duration

	PreemptAfter time.Duration // 0: queue.PreemptAfter

	About queue.About // what this process is as a worker
}

// Queue implements queue.Queue. It is used once: after Stop it cannot be
// started again.
type Queue struct {
	pool   *pgxpool.Pool
	beats  *pgxpool.Pool         // for heartbeats, while the queue runs: see openHeartbeatPool
	insert *river.Client[pgx.Tx] // for use in the caller's transactions
	log    *slog.Logger
	id     string // of this worker; never used twice
	host   string
	about  queue.About
	random func() float64 // in [0, 1)

	heartbeat, lostAfter, preemptAfter time.Duration

	executor     *executor.Executor
	slots        int          // how many tasks run at a time, at most
	done, failed atomic.Int64 // attempts, by their result
	unhealthy    atomic.Int64 // tasks in a row that failed because of this worker
	alive        atomic.Int64 // workers that the last heartbeat found, this one included
}

var _ queue.Queue = (*Queue)(nil)

// Open returns a queue on st, which must be on PostgreSQL, and brings the
// queue's part of the schema up to date.
func Open(ctx context.Context, st *store.Store, o Options) (*Queue, error) {
	if st.Pool() == nil {
		return nil, errors.New("open the queue: its database is not PostgreSQL")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = 5 * time.Second
	}
	if o.LostAfter == 0 {
		o.LostAfter = 3 * o.Heartbeat
	}
	if o.PreemptAfter == 0 {
		o.PreemptAfter = queue.PreemptAfter
	}
	if err := migrate(ctx, st, o.Log); err != nil {
		return nil, fmt.Errorf("open the queue: %w", err)
	}
	host := executor.Host()
	q := &Queue{
		pool:   st.Pool(),
		log:    o.Log,
		id:     host + "-" + uuid.NewString(),
		host:   host,
		about:  o.About,
		random: rand.Float64,

		heartbeat:    o.Heartbeat,
		lostAfter:    o.LostAfter,
		preemptAfter: o.PreemptAfter,
		executor:     executor.New(o.Log, rand.Float64),
	}
	var err error
	q.insert, err = river.NewClient(riverpgxv5.New(q.pool), &river.Config{
		Logger: errorsOnly(o.Log), Hooks: []rivertype.Hook{river.HookInsertBeginFunc(dueAtOnce)},
	})
	if err != nil {
		return nil, fmt.Errorf("open the queue: %w", err)
	}
	return q, nil
}

func migrate(ctx context.Context, st *store.Store, log *slog.Logger) error {
	if err := migrateRiver(ctx, st, errorsOnly(log)); err != nil {
		return fmt.Errorf("migrate River: %w", err)
	}
	return st.Migrate(ctx, "river", migrations)
}

// migrateRiver brings River's own tables up to date. It locks the schema only if there is something to do.
func migrateRiver(ctx context.Context, st *store.Store, log *slog.Logger) error {
	migrator := func(pool *pgxpool.Pool) (*rivermigrate.Migrator[pgx.Tx], error) {
		return rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: log})
	}
	m, err := migrator(st.Pool())
	if err != nil {
		return err
	}
	if found, err := m.Validate(ctx, nil); err != nil || found.OK {
		return err
	}
	return st.ChangeSchema(ctx, func(ctx context.Context, pool *pgxpool.Pool) error {
		m, err := migrator(pool)
		if err != nil {
			return err
		}
		_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
		return err
	})
}

// errorsOnly keeps River's informational messages out of the log.
func errorsOnly(log *slog.Logger) *slog.Logger { return slog.New(quietHandler{log.Handler()}) }

type quietHandler struct{ slog.Handler }

func (h quietHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelError && h.Handler.Enabled(ctx, l)
}
func (h quietHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quietHandler{h.Handler.WithAttrs(attrs)}
}
func (h quietHandler) WithGroup(name string) slog.Handler {
	return quietHandler{h.Handler.WithGroup(name)}
}
