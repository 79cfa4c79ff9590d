package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/video"
)

// impatience is how long a server that is gone may delay a caller of OpenImpatient,
// with some reserve for a busy machine.
const impatience = 20 * time.Second

// The errors of PostgreSQL are turned into what a client is told.
func TestPostgresErrors(t *testing.T) {
	t.Parallel()
	address := migrated.Fresh(t)
	ctx, st := t.Context(), openPostgres(t, address)
	pgtest.Exec(t, address, `
		CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			RAISE EXCEPTION 'meant by the test' USING ERRCODE = NEW.filename; END $$;
		CREATE TRIGGER fail BEFORE INSERT ON video FOR EACH ROW EXECUTE FUNCTION fail()`)
	tests := []struct {
		name, code string
		kind       video.Kind
		says       string
		tries      int
	}{
		{"the disk is full", "53100", video.InsufficientStorage, "insufficient_storage", 1},
		{"too many connections", "53300", video.Unavailable, "database_unavailable", 1},
		{"out of memory", "53200", video.Unavailable, "database_unavailable", 1},
		{"an operator stops the server", "57P01", video.Unavailable, "database_unavailable", 1},
		{"the server starts", "57P03", video.Unavailable, "database_unavailable", 1},
		{"a statement took too long", "57014", video.Unavailable, "database_unavailable", 1},
		{"the disk has an error", "58030", video.Unavailable, "database_unavailable", 1},
		{"a standby", "25006", video.Unavailable, "database_unavailable", 1},
		{"a transaction was silent for too long", "25P03", video.Unavailable, "database_unavailable", 1},
		{"a lock took too long", "55P03", video.Unavailable, "database_unavailable", 1},
		{"a collision, tried again", "40001", video.Unavailable, "database_unavailable", 3},
		{"a deadlock, tried again", "40P01", video.Unavailable, "database_unavailable", 3},
		{"a mistake of ours", "23514", video.Internal, "", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := someVideo("a")
			v.Filename = tt.code
			var tries int
			err := st.InTx(ctx, func(tx *store.Tx) error {
				tries++
				tx.OnCommit(func() { t.Error("a function ran though nothing was committed") })
				return tx.InsertVideo(ctx, v)
			})
			if tries != tt.tries {
				t.Errorf("tried %d times, want %d", tries, tt.tries)
			}
			if tt.kind != video.Internal {
				wantError(t, err, tt.kind, tt.says)
			} else if err == nil || video.KindOf(err) != video.Internal {
				t.Errorf("error = %v (%s), want it internal", err, video.KindOf(err))
			}
		})
	}
}

// Two that lock the same videos in opposite order both get through.
func TestPostgresDeadlock(t *testing.T) {
	t.Parallel()
	ctx, st := t.Context(), openPostgres(t, migrated.Fresh(t))
	for _, id := range []video.ID{"a", "b"} {
		if err := insert(ctx, st, someVideo(id)); err != nil {
			t.Fatal(err)
		}
	}
	var tries atomic.Int64
	var first, both sync.WaitGroup
	first.Add(2)
	for _, order := range [][2]video.ID{{"a", "b"}, {"b", "a"}} {
		both.Go(func() {
			met := false
			err := st.InTx(ctx, func(tx *store.Tx) error {
				tries.Add(1)
				if err := tx.Lock(ctx, order[0]); err != nil {
					return err
				}
				if !met { // only once: the second try finds the other one gone
					met = true
					first.Done()
					first.Wait()
				}
				return tx.Lock(ctx, order[1])
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if n := tries.Load(); n < 3 {
		t.Errorf("%d transactions, want a third after the deadlock", n)
	}
}

// Publishing a large file keeps its video locked for minutes. Whoever needs the
// lock waits for it, longer than any single statement may take.
func TestPostgresLockIsWaitedFor(t *testing.T) {
	t.Parallel()
	ctx, st := t.Context(), opened(t, store.OpenImpatient, migrated.Fresh(t))
	if err := insert(ctx, st, someVideo("a")); err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	var released atomic.Bool
	err := st.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, "a"); err != nil {
			return err
		}
		go func() {
			got <- st.InTx(ctx, func(tx *store.Tx) error {
				err := tx.Lock(ctx, "a")
				if err == nil && !released.Load() {
					t.Error("the lock was given twice")
				}
				return err
			})
		}()
		time.Sleep(2 * time.Second)
		released.Store(true)
		return nil
	})
	if err := errors.Join(err, <-got); err != nil {
		t.Error(err)
	}
}

// calls are all the ways to ask a store something.
func calls(ctx context.Context, st *store.Store) map[string]func() error {
	return map[string]func() error{
		"Ping":  func() error { return st.Ping(ctx) },
		"Video": func() error { _, err := st.Video(ctx, "a"); return err },
		"Steps": func() error { _, err := st.Steps(ctx, "a"); return err },
		"Videos": func() error {
			return st.Read(ctx, func(q store.Queries) error { _, err := q.SelectVideos(ctx, `LIMIT 1`); return err })
		},
		"InTx": func() error { return insert(ctx, st, someVideo("b")) },
	}
}

// wantAllUnavailable checks that every call fails with Unavailable, and soon.
func wantAllUnavailable(t *testing.T, st *store.Store) {
	t.Helper()
	var asking sync.WaitGroup
	for name, call := range calls(t.Context(), st) {
		asking.Go(func() {
			began := time.Now()
			err := call()
			if video.KindOf(err) != video.Unavailable {
				t.Errorf("%s = %v (%s), want it Unavailable", name, err, video.KindOf(err))
			}
			if took := time.Since(began); took > impatience {
				t.Errorf("%s took %v", name, took)
			}
		})
	}
	asking.Wait()
}

// wantInsert checks that a server which is back is used again. The timeouts of an impatient store are
// so short that a busy machine may break them once more.
func wantInsert(t *testing.T, st *store.Store, id video.ID) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		err := insert(t.Context(), st, someVideo(id))
		if err == nil {
			return
		}
		if video.KindOf(err) != video.Unavailable || time.Now().After(deadline) {
			t.Fatalf("when the server is back: %v", err)
		}
	}
}

func TestPostgresServerIsGone(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	st := opened(t, store.OpenImpatient, server.Fresh(t))
	if err := insert(t.Context(), st, someVideo("a")); err != nil {
		t.Fatal(err)
	}
	for name, stop := range map[string]func(){"stopped": server.Stop, "crashed": server.Crash} {
		t.Run(name, func(t *testing.T) {
			stop()
			wantAllUnavailable(t, st)
			server.Start(t)
			wantInsert(t, st, video.ID(name))
		})
	}
}

// A server can be there and not answer: its machine is gone, or hangs.
func TestPostgresServerIsSilent(t *testing.T) {
	t.Parallel()
	proxy := pgtest.NewProxy(t, migrated.Fresh(t))
	st := opened(t, store.OpenImpatient, proxy.URL())
	if err := insert(t.Context(), st, someVideo("a")); err != nil {
		t.Fatal(err)
	}
	proxy.Freeze()
	wantAllUnavailable(t, st)
	proxy.Thaw()
	proxy.Drop()
	wantInsert(t, st, "b")
}

// Connections that died in the pool are replaced without an error.
func TestPostgresConnectionsAreRenewed(t *testing.T) {
	t.Parallel()
	proxy := pgtest.NewProxy(t, migrated.Fresh(t))
	st := openPostgres(t, proxy.URL())
	for i := range 5 {
		if err := insert(t.Context(), st, someVideo(video.ID(fmt.Sprint(i)))); err != nil {
			t.Errorf("after %d broken connections: %v", i, err)
		}
		proxy.Drop()
	}
}

// The connection breaks while the commit is under way: nobody knows whether it
// happened, and nobody is told that it did.
func TestPostgresLostCommit(t *testing.T) {
	t.Parallel()
	proxy := pgtest.NewProxy(t, migrated.Fresh(t))
	ctx, st := t.Context(), opened(t, store.OpenImpatient, proxy.URL())
	for name, lose := range map[string]func(){"silent": proxy.Freeze, "broken": proxy.Drop} {
		err := st.InTx(ctx, func(tx *store.Tx) error {
			tx.OnCommit(func() { t.Error("a function ran though nobody knows about the commit") })
			err := tx.InsertVideo(ctx, someVideo(video.ID(name)))
			lose()
			return err
		})
		wantError(t, err, video.Unavailable, "database_unavailable")
		proxy.Thaw()
	}
}
