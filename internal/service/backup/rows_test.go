package backup

import (
	"errors"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/migrate"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
)

// Nothing that a restore leaves at any moment may look like a database that is used, nor the reverse.
func TestAnUnfinishedRestoreIsFound(t *testing.T) {
	t.Parallel()
	file, address := filepath.Join(t.TempDir(), "spool.db"), pgtest.Fresh(t)
	for name, at := range map[string]struct {
		connect func() (*store.Store, error)
		open    func(migrations []string) (*store.Store, error)
	}{
		"sqlite": {func() (*store.Store, error) { return store.ConnectSQLite(t.Context(), file) },
			func(m []string) (*store.Store, error) { return store.OpenSQLiteAt(t.Context(), file, m) }},
		"postgres": {func() (*store.Store, error) { return store.ConnectPostgres(t.Context(), address) },
			func(m []string) (*store.Store, error) { return store.OpenPostgresAt(t.Context(), address, m) }},
	} {
		t.Run(name, func(t *testing.T) {
			want := func(when string, want Found) {
				t.Helper()
				found, err := Examine(t.Context(), opened(at.connect())(t))
				if err != nil || found != want {
					t.Errorf("%s: %+v, %v; want %+v", when, found, err, want)
				}
			}
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			want("an empty database", Found{})
			all := store.KnownMigrations()
			opened(at.open(nil))(t)
			want("the table of migrations", Found{Used: true, Unfinished: true})
			s := opened(at.open(all))(t)
			want("tables without rows", Found{Used: true, Unfinished: true})
			must(DropTables(t.Context(), s))
			want("no tables", Found{Used: true, Unfinished: true})
			s = opened(at.open(all))(t)
			must(beginRestore(t.Context(), s, "me", time.Now()))
			begun := Found{Used: true, Unfinished: true, ID: "me"}
			want("begun", begun)
			fill(t, s)
			must(DropTables(t.Context(), s))
			want("dropped", begun)
			s = opened(at.open(all))(t)
			want("made again", begun)
			must(beginRestore(t.Context(), s, "me", time.Now()))
			fill(t, s)
			must(s.InTx(t.Context(), func(tx *store.Tx) error { return endRestore(t.Context(), tx) }))
			want("ended", Found{Used: true})
			if err := beginRestore(t.Context(), s, "other", time.Now()); err == nil {
				t.Error("a restore begins in the database of another")
			}
		})
	}
}

// Keys are made before the first server runs, which gives a database its id.
func TestADatabaseWithRowsIsNotUnfinished(t *testing.T) {
	t.Parallel()
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			fill(t, s)
			if found, err := Examine(t.Context(), s); err != nil || found != (Found{Used: true}) {
				t.Errorf("a database with rows is %+v, %v", found, err)
			}
		})
	}
}

// A build from before the first release had other migrations.
func TestAnUnreleasedDatabaseIsNotFilled(t *testing.T) {
	t.Parallel()
	old := fstest.MapFS{"migrations/0001_videos.sql": {Data: []byte(`CREATE TABLE video (id TEXT PRIMARY KEY)`)}}
	for name, connect := range map[string]func() (*store.Store, error){
		"sqlite": func() (*store.Store, error) {
			return store.ConnectSQLite(t.Context(), filepath.Join(t.TempDir(), "spool.db"))
		},
		"postgres": func() (*store.Store, error) { return store.ConnectPostgres(t.Context(), pgtest.Fresh(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := opened(connect())(t)
			if err := s.Migrate(t.Context(), "store", old); err != nil {
				t.Fatal(err)
			}
			if _, err := Examine(t.Context(), s); !errors.Is(err, migrate.ErrUnreleased) {
				t.Errorf("a restore into it: %v; want it refused", err)
			}
		})
	}
}
