package doctor

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/spool-video/spool/internal/backend/datadir"
	"github.com/spool-video/spool/internal/backend/store"
)

// The addresses of webhooks are read beside a server that runs: of those that are enabled and have one.
func TestRegisteredWebhooks(t *testing.T) {
	t.Parallel()
	d, _ := doctorFor(Config{DataDir: t.TempDir()})
	want := func(addresses ...string) {
		t.Helper()
		if got, err := d.registeredWebhooks(t.Context()); err != nil || !slices.Equal(got, addresses) {
			t.Errorf("registered are %q, %v; want %q", got, err, addresses)
		}
	}
	want()
	db, err := store.OpenSQLite(t.Context(), filepath.Join(d.DataDir, datadir.Database))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	want()
	err = db.InTx(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(t.Context(), "insert webhooks", `
			INSERT INTO webhook (id, tenant, url, pull, events, description, enabled, created_at) VALUES
			('1', 'a', 'https://example.com/hook', FALSE, '', '', TRUE, 0),
			('2', 'b', 'https://example.com/off', FALSE, '', '', FALSE, 0),
			('3', 'b', '', TRUE, '', '', TRUE, 0)`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want("https://example.com/hook")
}
