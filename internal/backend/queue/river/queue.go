// Package river is the queue of many machines: its tasks are jobs of River
// (github.com/riverqueue/river) in the PostgreSQL database they share. A lane is a
// queue of River. River inserts, fetches, wakes, cancels and cleans up; this package
// adds what River leaves out: fair shares between tenants, and a heartbeat, so that
// the tasks of a dead worker run again within seconds. It owns the table queue_worker.
//
// # Admission
//
// A task is inserted as pending, which River leaves alone. Whenever a task was
// enqueued or has ended, and twice a second in case a process died meanwhile, one
// statement makes as many pending tasks available as there are free places, in the
// order that package queue describes; River's workers fetch these at once. An
// advisory lock makes processes take turns.
//
// A task that failed is pending, too, until its pause is over and a place is free.
// River's own retry would make it available as soon as the pause is over, even before
// tenants that wait for longer, and would end it after 32,000 attempts. Until a task
// is due, its job has River's priority 4, so that admissions do not read it; then 1.
//
// # Dead workers
//
// A process writes a heartbeat every 5 seconds, on a connection of its own. If it is
// silent for three heartbeats, another one puts its tasks back. If it was only cut
// off, it has stopped them by itself by then. A process that was itself silent for
// too long puts nothing back until it has been there for a while, because after an
// outage of the database all look dead.
//
// River ends a job with an UPDATE that asks for its id and for state 'running', but
// not for the attempt. So a process that was paused, taken for dead and resumed could
// end the attempt of its successor. Therefore a task is put back as a new job, and the
// old one is closed: whatever the old process still writes finds it closed. The same
// holds for a task that failed, whose old job River would otherwise complete.
//
// # Time
//
// Times that several machines compare are of the database's clock. River reads it
// from databaseTime.
package river

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/attempts"
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

	About queue.About // what this process is as a worker
}

// Queue implements queue.Queue. It is used once: after Stop it cannot be
// started again.
type Queue struct {
	pool   *pgxpool.Pool
	read   *sql.DB               // the same
	beats  *pgxpool.Pool         // for heartbeats, while the queue runs: see openHeartbeatPool
	insert *river.Client[pgx.Tx] // for use in the caller's transactions
	log    *slog.Logger
	id     string // of this process; never used twice
	host   string
	about  queue.About
	time   *databaseTime

	heartbeat, lostAfter time.Duration

	running      attempts.List
	done, failed atomic.Int64  // attempts on EncodeLane, by their result
	unhealthy    atomic.Int64  // tasks in a row that failed because of this machine
	alive        atomic.Int64  // processes that the last heartbeat found, this one included
	wakeUp       chan struct{} // receives when there may be something to admit

	mu       sync.Mutex
	lanes    map[queue.Lane]queue.Pool // nil until started
	client   *river.Client[pgx.Tx]     // that works; nil until started
	stopping bool
	finished chan struct{} // closed when nothing runs any more; nil until started
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
	if err := migrate(ctx, st, o.Log); err != nil {
		return nil, fmt.Errorf("open the queue: %w", err)
	}
	host := attempts.Host()
	q := &Queue{
		pool: st.Pool(), read: st.Reader(), log: o.Log, id: host + "-" + uuid.NewString(), host: host, about: o.About,
		time: &databaseTime{}, heartbeat: o.Heartbeat, lostAfter: o.LostAfter, wakeUp: make(chan struct{}, 1),
	}
	if err := q.time.measure(ctx, q.pool); err != nil {
		return nil, fmt.Errorf("open the queue: %w", err)
	}
	var err error
	if q.insert, err = river.NewClient(riverpgxv5.New(q.pool), q.config()); err != nil {
		return nil, fmt.Errorf("open the queue: %w", err)
	}
	return q, nil
}

// config is what River is told in every client.
func (q *Queue) config() *river.Config {
	c := &river.Config{
		Logger:      errorsOnly(q.log),
		MaxAttempts: endless,
		JobTimeout:  -1,
		// Closed jobs say when a tenant was last served.
		CompletedJobRetentionPeriod: keepClosed, CancelledJobRetentionPeriod: keepClosed, DiscardedJobRetentionPeriod: keepClosed,
		ReindexerIndexNames: []string{}, // a worker's user does not own the tables
	}
	c.Test.Time = q.time
	return c
}

// keepClosed is how long the rows of jobs stay that have ended.
const keepClosed = 10 * time.Minute

// databaseTime is the database's clock, which River uses instead of this machine's.
type databaseTime struct{ ahead atomic.Int64 }

// Now implements rivertype.TimeGenerator.
func (t *databaseTime) Now() time.Time { return time.Now().Add(time.Duration(t.ahead.Load())) }

// NowOrNil implements rivertype.TimeGenerator: statements use the clock of their database.
func (t *databaseTime) NowOrNil() *time.Time { return nil }

// measure compares the clocks.
func (t *databaseTime) measure(ctx context.Context, pool *pgxpool.Pool) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	asked := time.Now()
	var now time.Time
	if err := pool.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now); err != nil {
		return fmt.Errorf("read the database's clock: %w", err)
	}
	t.ahead.Store(int64(now.Sub(asked.Add(time.Since(asked) / 2))))
	return nil
}

// queryTimeout bounds one query to the database.
const queryTimeout = 5 * time.Second

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

// isTurn reports whether this process does now what one process does for all. The more there are, the more
// seldom each does: a thousand cost the database as much as a few.
func (q *Queue) isTurn() bool { return rand.Float64()*float64(q.alive.Load()) < maintainers }

// maintainers is how many processes do at a time what one does for all, on average.
const maintainers = 4
