package storetest

import (
	"context"
	"testing"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/explaintest"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/backend/store/sqlitetest"
)

// Templates of databases with the schema of the store.
var (
	sqliteTemplate   sqlitetest.Template
	postgresTemplate = pgtest.Template{Prepare: func(ctx context.Context, url string) error {
		st, err := store.OpenPostgres(ctx, url)
		if err != nil {
			return err
		}
		return st.Close()
	}}
)

// Each runs a test of the rows of a room on SQLite and on PostgreSQL, each with an empty store. The TestMain of the
// package calls pgtest.Run.
func Each(t *testing.T, test func(t *testing.T, st *store.Store)) {
	t.Helper()
	for name, open := range map[string]func(t *testing.T) (*store.Store, error){
		"SQLite": func(t *testing.T) (*store.Store, error) {
			return store.OpenSQLite(t.Context(), sqliteTemplate.Fresh(t))
		},
		"PostgreSQL": func(t *testing.T) (*store.Store, error) {
			return store.ConnectPostgres(t.Context(), postgresTemplate.Fresh(t))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { st.Close() })
			test(t, st)
		})
	}
}

// WantIndexes runs the statements of a room, which must find their rows by an index: whatever runs for each request or
// task costs the same with ten rows and with ten million.
func WantIndexes(t *testing.T, run func(*store.Tx) error) {
	t.Helper()
	st, err := store.OpenSQLite(t.Context(), sqliteTemplate.Fresh(t))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	db, err := st.Writer().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Rollback()
	var scans []string
	if err := run(&store.Tx{Queries: store.QueriesOn(explaintest.Spy{Querier: db, T: t, Scans: &scans})}); err != nil {
		t.Error(err)
	}
	for _, scan := range scans {
		t.Error(scan)
	}
}
