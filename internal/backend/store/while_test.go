package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/video"
)

// beating opens a database whose transactions are heard of so often.
func beating(t *testing.T, every time.Duration) (s *Store, address string) {
	t.Helper()
	address = pgtest.Fresh(t)
	s, err := OpenPostgres(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	s.beat = every
	return s, address
}

// impatient runs f inside a transaction that PostgreSQL gives up after a second
// without a word.
func impatient(ctx context.Context, s *Store, f func(context.Context) error) error {
	return s.InTx(ctx, func(tx *Tx) error {
		if _, err := tx.ExecContext(ctx, `SET LOCAL idle_in_transaction_session_timeout = '1s'`); err != nil {
			return err
		}
		if err := tx.KeepAliveWhile(ctx, f); err != nil {
			return err
		}
		_, err := tx.affected(ctx, "take a note", `INSERT INTO chore (name, begun_at) VALUES ('noted', 0)`)
		return err
	})
}

// copying takes longer than PostgreSQL waits.
func copying(ctx context.Context) error {
	select {
	case <-time.After(3 * time.Second):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func TestTransactionLivesWhileSomethingTakesLong(t *testing.T) {
	t.Parallel()
	s, _ := beating(t, 100*time.Millisecond)
	if err := impatient(t.Context(), s, copying); err != nil {
		t.Errorf("a copy that takes longer than PostgreSQL waits: %v", err)
	}
	var n int
	if err := s.read.QueryRowContext(t.Context(), `SELECT count(*) FROM chore WHERE name = 'noted'`).Scan(&n); err != nil || n != 1 {
		t.Errorf("%d notes, %v; want the one after the copy", n, err)
	}
}

// The test above would not fail if PostgreSQL did not mind.
func TestTransactionWithoutAWordIsGivenUp(t *testing.T) {
	t.Parallel()
	s, _ := beating(t, time.Hour)
	if err := impatient(t.Context(), s, copying); video.KindOf(err) != video.Unavailable {
		t.Errorf("a silent transaction ends with %v; want it lost", err)
	}
}

// Without its lock a copy must not go on.
func TestWhatTakesLongIsToldThatTheTransactionIsLost(t *testing.T) {
	t.Parallel()
	s, address := beating(t, 100*time.Millisecond)
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

func TestWhileReturnsWhatWentWrong(t *testing.T) {
	t.Parallel()
	wrong := errors.New("meant by the test")
	pg, _ := beating(t, 100*time.Millisecond)
	for name, s := range map[string]*Store{"SQLite": openHere(t), "PostgreSQL": pg} {
		err := s.InTx(t.Context(), func(tx *Tx) error {
			return tx.KeepAliveWhile(t.Context(), func(context.Context) error { return wrong })
		})
		if !errors.Is(err, wrong) {
			t.Errorf("%s: InTx = %v; want the error of what was run", name, err)
		}
	}
}
