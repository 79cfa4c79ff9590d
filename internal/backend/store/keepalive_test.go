package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/video"
)

// openKeepingAlive opens a database with this interval of keep-alives.
func openKeepingAlive(t *testing.T, every time.Duration) (s *Store, address string) {
	t.Helper()
	address = pgtest.Fresh(t)
	s, err := OpenPostgres(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	s.keepAlive = every
	return s, address
}

// impatient runs f inside a transaction that PostgreSQL ends after half a second of
// silence.
func impatient(ctx context.Context, s *Store, f func(context.Context) error) error {
	return s.InTx(ctx, func(tx *Tx) error {
		if _, err := tx.ExecContext(ctx, `SET LOCAL idle_in_transaction_session_timeout = '500ms'`); err != nil {
			return err
		}
		if err := tx.KeepAliveWhile(ctx, f); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "take a note", `INSERT INTO periodic_job (name, begun_at) VALUES ('noted', 0)`)
		return err
	})
}

// copying takes longer than PostgreSQL waits.
func copying(ctx context.Context) error {
	select {
	case <-time.After(1500 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func TestTransactionIsKeptAlive(t *testing.T) {
	t.Parallel()
	s, _ := openKeepingAlive(t, 100*time.Millisecond)
	if err := impatient(t.Context(), s, copying); err != nil {
		t.Errorf("a copy that takes longer than PostgreSQL waits: %v", err)
	}
	var n int
	if err := s.read.QueryRowContext(t.Context(), `SELECT count(*) FROM periodic_job WHERE name = 'noted'`).Scan(&n); err != nil || n != 1 {
		t.Errorf("%d notes, %v; want the one after the copy", n, err)
	}
}

// The test above would not fail if PostgreSQL did not mind.
func TestSilentTransactionIsLost(t *testing.T) {
	t.Parallel()
	s, _ := openKeepingAlive(t, time.Hour)
	if err := impatient(t.Context(), s, copying); video.KindOf(err) != video.Unavailable {
		t.Errorf("a silent transaction ends with %v; want it lost", err)
	}
}

// Whoever gives up a copy hears from the copy why, and not that the database does not answer.
func TestTheErrorOfWhatTookTooLongCounts(t *testing.T) {
	t.Parallel()
	s, _ := openKeepingAlive(t, 10*time.Millisecond)
	silent := errors.New("the storage does not answer")
	err := s.InTx(t.Context(), func(tx *Tx) error {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		return tx.KeepAliveWhile(ctx, func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(200 * time.Millisecond) // it closes its connection
			return silent
		})
	})
	if !errors.Is(err, silent) {
		t.Errorf("a copy that took too long ends with %v; want %v", err, silent)
	}
}

// Without its lock a copy must not go on.
func TestKeepAliveWhileCancelsWhenTheTransactionIsLost(t *testing.T) {
	t.Parallel()
	s, address := openKeepingAlive(t, 100*time.Millisecond)
	var told error
	err := impatient(t.Context(), s, func(ctx context.Context) error {
		pgtest.Exec(t, address, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = current_database()`)
		<-ctx.Done()
		told = context.Cause(ctx)
		return told
	})
	if video.KindOf(err) != video.Unavailable || video.KindOf(told) != video.Unavailable {
		t.Errorf("the transaction ends with %v and what it waited for with %v; want both to be told that it is lost", err, told)
	}
}

func TestKeepAliveWhileReturnsTheError(t *testing.T) {
	t.Parallel()
	wrong := errors.New("meant by the test")
	pg, _ := openKeepingAlive(t, 100*time.Millisecond)
	for name, s := range map[string]*Store{"SQLite": openHere(t), "PostgreSQL": pg} {
		err := s.InTx(t.Context(), func(tx *Tx) error {
			return tx.KeepAliveWhile(t.Context(), func(context.Context) error { return wrong })
		})
		if !errors.Is(err, wrong) {
			t.Errorf("%s: InTx = %v; want the error of what was run", name, err)
		}
	}
}

// Whoever began the transaction handles panics: the worker, or the HTTP server. In
// another goroutine a panic would end the process.
func TestKeepAliveWhilePanicsInTheCaller(t *testing.T) {
	t.Parallel()
	s, _ := openKeepingAlive(t, 10*time.Millisecond)
	var recovered any
	func() {
		defer func() { recovered = recover() }()
		_ = impatient(t.Context(), s, func(context.Context) error {
			time.Sleep(50 * time.Millisecond)
			panic("meant by the test")
		})
	}()
	if recovered != "meant by the test" {
		t.Errorf("recovered %v, want the panic of what was run", recovered)
	}
	if err := impatient(t.Context(), s, func(context.Context) error { return nil }); err != nil {
		t.Errorf("the next transaction: %v", err)
	}
}

// The keep-alives run in a goroutine of their own, where nobody else would recover.
func TestKeepAliveThatPanicsIsAnError(t *testing.T) {
	t.Parallel()
	tx := &Tx{Queries: Queries{nil}, keepAlive: time.Millisecond} // without a database
	err := tx.KeepAliveWhile(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return nil })
	if err == nil {
		t.Error("a transaction without a database was kept alive")
	}
}
