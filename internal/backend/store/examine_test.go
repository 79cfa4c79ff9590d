package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
)

func TestExamineSQLite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "spool.db")
	db, err := store.OpenSQLite(t.Context(), path) // a server that runs
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if e, err := store.ExamineSQLite(t.Context(), path); err != nil || !strings.HasPrefix(e.Version, "3.") {
		t.Errorf("ExamineSQLite = %+v, %v", e, err)
	}
	wantLooks(t, func(table string, f func(store.Queries) error) error {
		return store.LookSQLite(t.Context(), path, table, f)
	})
	broken := filepath.Join(t.TempDir(), "spool.db")
	if err := os.WriteFile(broken, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.ExamineSQLite(t.Context(), broken); err == nil || !strings.Contains(err.Error(), "not a database") {
		t.Errorf("a broken file gets %v", err)
	}
}

func TestExaminePostgres(t *testing.T) {
	t.Parallel()
	address := pgtest.Fresh(t)
	e, err := store.ExaminePostgres(t.Context(), address)
	if err != nil || e.Version == "" || !e.MayCreate || e.ReadOnly || e.Encoding != "UTF8" || time.Since(e.Now).Abs() > time.Minute {
		t.Errorf("ExaminePostgres = %+v, %v", e, err)
	}
	db, err := store.OpenPostgres(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	wantLooks(t, func(table string, f func(store.Queries) error) error {
		return store.LookPostgres(t.Context(), address, table, f)
	})
	if _, err := store.ExaminePostgres(t.Context(), "postgres://spool@127.0.0.1:1/spool"); err == nil || !strings.Contains(err.Error(), "nothing listens there") {
		t.Errorf("a server that is not there gets %v", err)
	}
}

// wantLooks wants a table to be read, and one that is not there to be passed over.
func wantLooks(t *testing.T, look func(table string, f func(store.Queries) error) error) {
	t.Helper()
	videos := -1
	must(t, look("video", func(q store.Queries) error {
		return q.QueryRow(t.Context(), `SELECT count(*) FROM video`).Scan(&videos)
	}))
	if videos != 0 {
		t.Errorf("an empty table has %d rows", videos)
	}
	must(t, look("no_such_table", func(store.Queries) error {
		t.Error("there is no such table")
		return nil
	}))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
