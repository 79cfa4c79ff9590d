package river_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/river"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/video"
)

// The database goes away in the middle of the work, in both ways it can, and
// comes back. Every task ends, and every result counts once.
func TestWorkGoesOnAfterTheDatabase(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*pgtest.Server){
		"was restarted": (*pgtest.Server).Stop, "crashed": (*pgtest.Server).Crash,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const total = 60
			server := pgtest.Start(t)
			address := server.Fresh(t)
			// A fetch whose answer was lost is noticed after LostAfter.
			o := river.Options{Heartbeat: 500 * time.Millisecond, LostAfter: 3 * time.Second}
			a, b := newMachine(t, address, o), newMachine(t, address, o)
			a.plan(total)
			results := newTally()
			for _, m := range []*machine{a, b} {
				m.run(4, func(ctx context.Context, task queue.Task) error {
					time.Sleep(20 * time.Millisecond)
					counted, err := finish(ctx, m.store, task)
					results.add(task, counted && err == nil) // else it was undone, or nobody knows
					return err
				})
			}
			a.enqueue(encodes(total)...)
			results.reach(t, total/4)
			stop(server)
			time.Sleep(time.Second) // longer than the tasks at work: their ends cannot be recorded
			server.Start(t)
			a.drained()
			results.check(t, total, a.store)
		})
	}
}

// tally counts the results that counted.
type tally struct {
	mu      sync.Mutex
	changed chan struct{}
	counted map[string]int
	runs    int
}

func newTally() *tally {
	return &tally{counted: map[string]int{}, changed: make(chan struct{}, 1000)}
}

func (c *tally) add(t queue.Task, counted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs++
	if counted {
		c.counted[t.String()]++
	}
	c.changed <- struct{}{}
}

// reach waits for n runs.
func (c *tally) reach(t testing.TB, n int) {
	t.Helper()
	for range n {
		select {
		case <-c.changed:
		case <-time.After(testTimeout):
			t.Fatal("the work does not go on")
		}
	}
}

// check looks whether every step was finished, and none by two results. A commit
// whose answer was lost may have counted without its worker knowing.
func (c *tally) check(t testing.TB, total int, st *store.Store) {
	t.Helper()
	steps, err := st.Steps(t.Context(), someVideo)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		if !s.Done {
			t.Errorf("step %d was never finished", s.Number)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, n := range c.counted {
		if n != 1 {
			t.Errorf("the result of %s counted %d times", name, n)
		}
	}
	t.Logf("%d steps done in %d runs", len(steps), c.runs)
	if len(steps) != total {
		t.Errorf("%d steps, want %d", len(steps), total)
	}
}

// A fetch can succeed in the database and fail on the way back. Its worker is
// alive, and does not know that it has the task.
func TestLostFetchIsReclaimed(t *testing.T) {
	t.Parallel()
	address := migrated.Fresh(t)
	m := newMachine(t, address, river.Options{Heartbeat: 50 * time.Millisecond, LostAfter: 15 * time.Second})
	m.work(1)
	pgtest.Exec(t, address, `CREATE FUNCTION lost_fetch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		NEW.state := 'running'; NEW.attempt := 1; NEW.attempted_at := now() - interval '16 seconds';
		NEW.attempted_by := ARRAY(SELECT id FROM queue_worker); RETURN NEW; END $$;
		CREATE TRIGGER lost_fetch BEFORE INSERT ON river_job FOR EACH ROW WHEN (NEW.state = 'pending') EXECUTE FUNCTION lost_fetch()`)
	m.enqueue(encode(0))
	m.next(encode(0), 1).end <- nil
	m.drained()
}

// When all have lost the database, silence means nothing: the worker that is back first gives the others
// time for a heartbeat, and what they still run is not run a second time.
func TestSilenceOfAllIsNoDeath(t *testing.T) {
	t.Parallel()
	address := migrated.Fresh(t)
	o := river.Options{Heartbeat: time.Second, LostAfter: 1500 * time.Millisecond}
	late, early := pgtest.NewProxy(t, address), pgtest.NewProxy(t, address)
	a, b := newMachine(t, late.URL(), o), newMachine(t, early.URL(), o)
	a.work(1)
	a.enqueue(encode(0))
	run := a.next(encode(0), 1)
	b.work(1)
	late.Freeze()
	early.Freeze()
	time.Sleep(2 * time.Second)
	early.Thaw()
	time.Sleep(400 * time.Millisecond) // less than a heartbeat
	late.Thaw()
	time.Sleep(1500 * time.Millisecond) // more than one
	if len(b.begun) > 0 {
		t.Error("the task was given away while it ran")
	}
	run.end <- nil
	for again := true; again; { // it is done, or put back, because its worker was cut off for too long
		select {
		case act := <-a.begun:
			act.end <- nil
		case act := <-b.begun:
			act.end <- nil
		case <-time.After(2 * time.Second):
			again = false
		}
	}
	a.drained()
}

// A task can be cancelled in the moment between its fetch and its beginning,
// and the notification be lost. It is not begun.
func TestTaskCancelledAfterItsFetchIsNotBegun(t *testing.T) {
	t.Parallel()
	address := migrated.Fresh(t)
	m := newMachine(t, address, river.Options{Heartbeat: time.Hour})
	m.work(1)
	pgtest.Exec(t, address, `CREATE FUNCTION cancel_fetched() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		NEW.metadata := NEW.metadata || '{"cancel_attempted_at": "x"}'; RETURN NEW; END $$;
		CREATE TRIGGER cancel_fetched BEFORE UPDATE ON river_job FOR EACH ROW
			WHEN (OLD.state = 'available' AND NEW.state = 'running') EXECUTE FUNCTION cancel_fetched()`)
	m.enqueue(encode(0))
	m.drained()
	m.waitIdle(someVideo)
	if len(m.begun) > 0 {
		t.Errorf("%s was begun though it was cancelled", <-m.begun)
	}
}

func TestStopWithoutADatabase(t *testing.T) {
	t.Parallel()
	address := migrated.Fresh(t)
	proxy := pgtest.NewProxy(t, address)
	m := newMachine(t, proxy.URL(), river.Options{})
	begun := make(chan struct{})
	err := m.Start(t.Context(), queue.Encoding(1, func(ctx context.Context, _ queue.Task) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	}))
	if err != nil {
		t.Fatal(err)
	}
	m.enqueue(encode(0))
	<-begun
	proxy.Cut(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := m.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stop returned %v, want the error of its context", err)
	}
	// Others find the task when the worker is missed.
	pgtest.Exec(t, address, `UPDATE queue_worker SET seen_at = now() - interval '16 seconds'`)
	next := newMachine(t, address, river.Options{})
	next.work(1)
	next.next(encode(0), 1).end <- nil
	next.drained()
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	address := migrated.Fresh(t)
	tests := []struct {
		name    string
		prepare func(*machine, *pgtest.Proxy)
		n       int
		want    error // nil: any
	}{
		{"no workers at all", func(*machine, *pgtest.Proxy) {}, 0, nil},
		{"a second start", func(m *machine, _ *pgtest.Proxy) { m.work(1) }, 1, nil},
		{"a start after the stop", func(m *machine, _ *pgtest.Proxy) { _ = m.Stop(m.Context()) }, 1, queue.ErrStopping},
		{"a database that is gone", func(m *machine, p *pgtest.Proxy) { p.Cut(m) }, 1, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			proxy := pgtest.NewProxy(t, address)
			m := newMachine(t, proxy.URL(), river.Options{})
			tt.prepare(m, proxy)
			err := m.Start(t.Context(), queue.Encoding(tt.n, nil))
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("Start = %v, want an error (%v)", err, tt.want)
			}
		})
	}
}

func TestSQLiteIsRefused(t *testing.T) {
	t.Parallel()
	st, err := store.OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "spool.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := river.Open(t.Context(), st, river.Options{}); err == nil {
		t.Error("a queue was opened on SQLite")
	}
}

// A connection that breaks while a task is enqueued is a transient error: the
// client is asked to try again.
func TestErrorWhileEnqueuingIsTransient(t *testing.T) {
	t.Parallel()
	proxy := pgtest.NewProxy(t, migrated.Fresh(t))
	m := newMachine(t, proxy.URL(), river.Options{})
	for name, work := range map[string]func(*store.Tx) error{
		"enqueue": func(tx *store.Tx) error { return m.Enqueue(t.Context(), tx, encode(0)) },
		"cancel":  func(tx *store.Tx) error { return m.Cancel(t.Context(), tx, someVideo) },
	} {
		err := m.store.InTx(t.Context(), func(tx *store.Tx) error {
			proxy.Drop()
			return work(tx)
		})
		if video.KindOf(err) != video.Unavailable {
			t.Errorf("%s = %v (%s), want it Unavailable", name, err, video.KindOf(err))
		}
	}
	m.enqueue(encode(0)) // on a new connection
}

func TestConcurrentOpeners(t *testing.T) {
	t.Parallel()
	address := pgtest.Fresh(t)
	var opening sync.WaitGroup
	for i := range 4 {
		opening.Go(func() {
			st, err := store.OpenPostgres(t.Context(), address)
			if err != nil {
				t.Error(err)
				return
			}
			defer st.Close()
			q, err := river.Open(t.Context(), st, river.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			err = st.InTx(t.Context(), func(tx *store.Tx) error { return q.Enqueue(t.Context(), tx, encode(i)) })
			if err != nil {
				t.Error(fmt.Errorf("opener %d: %w", i, err))
			}
		})
	}
	opening.Wait()
	m := newMachine(t, address, river.Options{})
	if stats, err := m.Stats(t.Context()); err != nil || stats[queue.Encode].Waiting != 4 {
		t.Errorf("stats %+v, %v; want a task of each", stats, err)
	}
}
