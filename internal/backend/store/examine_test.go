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
	if _, err := store.ExaminePostgres(t.Context(), "postgres://spool@127.0.0.1:1/spool"); err == nil || !strings.Contains(err.Error(), "nothing listens there") {
		t.Errorf("a server that is not there gets %v", err)
	}
}
