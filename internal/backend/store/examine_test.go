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
	wantWebhookURL(t, db, func() ([]string, error) { return store.SQLiteWebhookURLs(t.Context(), path) })
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
	if urls, err := store.PostgresWebhookURLs(t.Context(), address); err != nil || len(urls) > 0 {
		t.Errorf("a database without tables has webhooks at %v, %v", urls, err)
	}
	db, err := store.OpenPostgres(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	wantWebhookURL(t, db, func() ([]string, error) { return store.PostgresWebhookURLs(t.Context(), address) })
	if _, err := store.ExaminePostgres(t.Context(), "postgres://spool@127.0.0.1:1/spool"); err == nil || !strings.Contains(err.Error(), "nothing listens there") {
		t.Errorf("a server that is not there gets %v", err)
	}
}

// wantWebhookURL wants the one webhook to be found that events are sent to.
func wantWebhookURL(t *testing.T, db *store.Store, read func() ([]string, error)) {
	t.Helper()
	must(t, db.InTx(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(t.Context(), "insert webhooks", `
			INSERT INTO webhook (id, tenant, url, pull, events, description, enabled, created_at) VALUES
			('1', 'a', 'https://example.com/hook', FALSE, '', '', TRUE, 0),
			('2', 'b', 'https://example.com/off', FALSE, '', '', FALSE, 0),
			('3', 'b', '', TRUE, '', '', TRUE, 0)`)
		return err
	}))
	if urls, err := read(); err != nil || len(urls) != 1 || urls[0] != "https://example.com/hook" {
		t.Errorf("the addresses are %v, %v", urls, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
