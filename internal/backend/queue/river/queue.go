// Package river is the queue of many machines: its tasks are jobs of River
// (github.com/riverqueue/river) in the PostgreSQL database they share. River
// inserts, fetches, wakes and cancels. This package adds what River leaves out:
// a heartbeat, so that the tasks of a worker that died are given to others
// within seconds, a fence around each run, and any number of priorities. It
// owns the table queue_worker and the jobs of the queue "spool".
//
// # One id, one run
//
// River ends a job with an UPDATE that asks for its id and for state 'running',
// and not for the attempt. So a worker that was paused, given up and woken again
// could end the run of the worker after it. Here a task that goes back into the
// queue, for whatever reason, gets a new id in the same statement. An id thus
// names one run, and whatever the old worker still sends finds no row.
//
// # Order
//
// River orders jobs by one of four priorities and then by the time they are due.
// Tasks all have the first priority; those that are due carry, instead of a real
// time, their turn (see package queue): a moment in the year 2000. Tasks that
// have to wait carry the real time, and get their turn when it has come. A worker
// that has fetched a turn looks whether the tenant has a more urgent task than
// the one that came with it. If so, it exchanges the two: see settle.
//
// # Time
//
// What is compared with the time of another machine is written by the database's
// clock alone. Local clocks measure pauses, and a task's RunAt is taken as so
// much later than the local now.
package river

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
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
	"github.com/spool-video/spool/internal/backend/queue/life"
	"github.com/spool-video/spool/internal/backend/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Options are what a queue needs besides its database. Its zero value works.
type Options struct {
	Log *slog.Logger // nil: silent

	// Beat is how often a worker says that it is alive; 0: every 5 s. Lost is
	// after what silence its tasks are given to others; 0: three beats.
	Beat, Lost time.Duration
}

// Queue implements queue.Queue. It is used once: after Stop it cannot be
// started again.
type Queue struct {
	pool   *pgxpool.Pool
	heart  *pgxpool.Pool         // of the beats, while the queue runs: see openHeart
	insert *river.Client[pgx.Tx] // for use in the caller's transactions
	log    *slog.Logger
	id     string // of this worker; never used twice
	host   string
	beat   time.Duration
	lost   time.Duration
	random func() float64 // in [0, 1)

	life         *life.Life
	slots        int          // how many tasks run at a time, at most
	done, failed atomic.Int64 // runs that ended, by how
	unwell       atomic.Int64 // tasks in a row that failed because of this worker
	alive        atomic.Int64 // workers, this one included, as the last beat found them
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
	if o.Beat == 0 {
		o.Beat = 5 * time.Second
	}
	if o.Lost == 0 {
		o.Lost = 3 * o.Beat
	}
	if err := migrate(ctx, st, o.Log); err != nil {
		return nil, fmt.Errorf("open the queue: %w", err)
	}
	host := hostname()
	q := &Queue{
		pool:   st.Pool(),
		log:    o.Log,
		id:     host + "-" + uuid.NewString(),
		host:   host,
		beat:   o.Beat,
		lost:   o.Lost,
		random: rand.Float64,
		life:   life.New(o.Log, rand.Float64),
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
	err := st.ChangeSchema(ctx, func(ctx context.Context, pool *pgxpool.Pool) error {
		m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: errorsOnly(log)})
		if err != nil {
			return err
		}
		_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
		return err
	})
	if err != nil {
		return fmt.Errorf("migrate River: %w", err)
	}
	return st.Migrate(ctx, "river", migrations)
}

// hostname is where this process runs, for the operator who looks at workers.
func hostname() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		return "unknown"
	}
	return host[:min(len(host), 60)]
}

// errorsOnly keeps River's talk about its own affairs out of the log.
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
