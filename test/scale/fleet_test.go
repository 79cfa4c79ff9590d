package scale

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/local"
	"github.com/spool-video/spool/internal/backend/queue/river"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/video"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// engine starts a fleet that works for w. It returns what kills the first
// machine, and what lets the fleet notice; nil where there is one machine.
type engine func(w *world, s size) (kill, notice func())

// enqueueOn returns how tasks are enqueued on a store. When it has no connection
// to spare it is asked again, as by a task that runs again.
func enqueueOn(st *store.Store, q queue.Queue) enqueue {
	return func(ctx context.Context, tasks []queue.Task) (err error) {
		for range 20 {
			err = st.InTx(ctx, func(tx *store.Tx) error { return q.Enqueue(ctx, tx, tasks...) })
			if video.KindOf(err) != video.Unavailable {
				break
			}
		}
		return err
	}
}

// onSQLite is one process that runs all tasks.
func onSQLite(w *world, s size) (kill, notice func()) {
	st := openSQLite(w)
	q := local.New(st.Writer(), local.Options{Read: st.Reader()})
	w.enqueue = enqueueOn(st, q)
	if err := q.Start(w.Context(), queue.Encoding(s.workers(), w.handler(0, w.enqueue))); err != nil {
		w.Fatal(err)
	}
	stopWith(w, q, time.Minute)
	return nil, nil
}

// onPostgres is a fleet of processes, as far as the database can tell: each has
// connections of its own. The first one's can be cut.
func onPostgres(w *world, s size) (kill, notice func()) {
	address := pgtest.Fresh(w)
	proxy := pgtest.NewProxy(w, address)
	var dead string
	for i := range s.machines {
		if i == 0 {
			join(w, i, s.slots, proxy.URL(), time.Second)
			dead = ask[string](w, address, `SELECT id FROM queue_worker`)
		} else {
			join(w, i, s.slots, address, time.Minute)
		}
	}
	kill = func() {
		proxy.Cut(w)
		w.strand(0, s.slots)
	}
	// The database's clock cannot be turned, so the dead worker's last beat is
	// made old instead. The simulated clock waits until somebody has seen that.
	notice = func() {
		pgtest.Exec(w, address, `UPDATE queue_worker SET seen_at = now() - interval '2 hours' WHERE id = $1`, dead)
		const left = `SELECT count(*) FROM river_job WHERE state = 'running' AND attempted_by[array_upper(attempted_by, 1)] = $1`
		for ask[int](w, address, left, dead) > 0 {
			time.Sleep(20 * time.Millisecond) // nobody tells, except the table
		}
		w.found()
	}
	return kill, notice
}

// join adds a machine to the fleet. Tasks are enqueued on the last one.
func join(w *world, machine, slots int, address string, waitLimit time.Duration) {
	st := openPostgres(w, address)
	// Nobody is thought dead because this computer is slow, and who looks for the
	// dead looks often.
	q, err := river.Open(w.Context(), st, river.Options{Heartbeat: 200 * time.Millisecond, LostAfter: time.Hour})
	if err != nil {
		w.Fatal(err)
	}
	w.enqueue = enqueueOn(st, q)
	if err := q.Start(w.Context(), queue.Encoding(slots, w.handler(machine, w.enqueue))); err != nil {
		w.Fatal(err)
	}
	stopWith(w, q, waitLimit)
}

// ask returns the one value that a query gives.
func ask[T any](t testing.TB, address, query string, args ...any) (answer T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if err := conn.QueryRow(t.Context(), query, args...).Scan(&answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

// stopWith stops a queue at the end of the test, however far it gets in the time.
func stopWith(w *world, q queue.Queue, waitLimit time.Duration) {
	w.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(w.Context()), waitLimit)
		defer cancel()
		_ = q.Stop(ctx) // one whose machine was cut off cannot
	})
}
