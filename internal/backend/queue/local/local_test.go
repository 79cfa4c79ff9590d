package local

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/queuetest"
	"github.com/spool-video/spool/internal/backend/store/migrate"
)

func TestContract(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, func(t testing.TB) queuetest.Harness {
		return harness(t, filepath.Join(t.TempDir(), "spool.db"))
	})
}

// harness opens a queue on the database at path.
func harness(t testing.TB, path string) queuetest.Harness {
	t.Helper()
	db := openDB(t, path)
	return queuetest.Harness{
		Queue: New(db, Options{About: queuetest.About()}),
		InTx: func(ctx context.Context, f func(queue.Tx) error) error {
			return inTx(ctx, db, f)
		},
		Restart: func(t testing.TB) queuetest.Harness {
			t.Helper()
			cutOff(t, db)
			return harness(t, path)
		},
	}
}

// cutOff closes a database that a queue may still be using. It takes the one
// connection first, so that no statement of that queue is under way any more
// when the next process looks at the tasks.
func cutOff(t testing.TB, db *sql.DB) {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Close(), conn.Close()); err != nil {
		t.Fatal(err)
	}
}

// openDB opens the database as the service does: one connection that writes.
func openDB(t testing.TB, path string) *sql.DB {
	t.Helper()
	dsn := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: url.Values{
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(OFF)"}, // commits need not survive a power cut
	}.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	files, err := fs.Sub(Migrations, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := migrate.Up(t.Context(), db, "queue", files); err != nil {
		t.Fatal(err)
	}
	return db
}

// testTx is a transaction with hooks, as the store has it.
type testTx struct {
	*sql.Tx
	hooks []func()
}

func (t *testTx) OnCommit(f func()) { t.hooks = append(t.hooks, f) }

func inTx(ctx context.Context, db *sql.DB, f func(queue.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after the commit
	t := &testTx{Tx: tx}
	if err := f(t); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	for _, hook := range t.hooks {
		hook()
	}
	return nil
}
