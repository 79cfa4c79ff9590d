package store_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/sqlitetest"
	"github.com/spool-video/spool/internal/backend/store/storetest"
)

func TestSQLite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) *store.Store {
		st := open(t, migratedFile.Fresh(t))
		run(t, st, `PRAGMA synchronous = OFF`) // hundreds of commits need not survive a power cut
		return st
	})
}

// migratedFile is a database with the schema of this package. Tests of the migrations make their own.
var migratedFile sqlitetest.Template

// fresh returns the path of a database that does not exist yet.
func fresh(t testing.TB) string { return filepath.Join(t.TempDir(), "spool.db") }

func open(t testing.TB, path string) *store.Store {
	t.Helper()
	return opened(t, store.OpenSQLite, path)
}

// opener is store.OpenSQLite or store.OpenPostgres.
type opener func(ctx context.Context, at string) (*store.Store, error)

// opened opens a store that is closed when the test ends.
func opened(t testing.TB, open opener, at string) *store.Store {
	t.Helper()
	st, err := open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

// run executes a statement on the connection that writes.
func run(t testing.TB, st *store.Store, query string) {
	t.Helper()
	if _, err := st.Writer().ExecContext(t.Context(), query); err != nil {
		t.Fatal(err)
	}
}
