package migrate_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	_ "modernc.org/sqlite"

	"github.com/spool-video/spool/internal/backend/store/migrate"
)

// files maps names of migrations to their SQL.
type files map[string]string

func (f files) fs() fstest.MapFS {
	m := fstest.MapFS{}
	for name, text := range f {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

func open(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	// The change to write-ahead logging does not wait for others who make it.
	if err := db.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

func openFresh(t *testing.T) *sql.DB {
	return open(t, filepath.Join(t.TempDir(), "spool.db"))
}

// names returns the first column of a query.
func names(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func applied(t *testing.T, db *sql.DB) []string {
	t.Helper()
	return names(t, db, `SELECT set_name || '/' || name FROM migration ORDER BY set_name, name`)
}

func tables(t *testing.T, db *sql.DB) []string {
	t.Helper()
	return names(t, db, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'migration' ORDER BY name`)
}

const (
	makeFilm  = `CREATE TABLE film (id TEXT PRIMARY KEY);`
	growFilm  = `ALTER TABLE film ADD COLUMN title TEXT; CREATE TABLE reel (id TEXT);`
	makeScene = `CREATE TABLE scene (id TEXT);`
)

func TestUp(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		starts  []files // one call of Up each, on the same database
		applied []string
		tables  []string
	}{
		{"an empty set changes nothing", []files{{}}, nil, nil},
		{"files are applied in the order of their names, not of their birth",
			[]files{{"0002_grow.sql": growFilm, "0001_film.sql": makeFilm}},
			[]string{"s/0001_film.sql", "s/0002_grow.sql"}, []string{"film", "reel"}},
		{"a second start applies nothing twice",
			[]files{{"0001_film.sql": makeFilm}, {"0001_film.sql": makeFilm}},
			[]string{"s/0001_film.sql"}, []string{"film"}},
		{"a later start applies what is new",
			[]files{{"0001_film.sql": makeFilm}, {"0001_film.sql": makeFilm, "0002_grow.sql": growFilm}},
			[]string{"s/0001_film.sql", "s/0002_grow.sql"}, []string{"film", "reel"}},
		{"a file that appears between applied ones is still applied",
			[]files{{"0001_film.sql": makeFilm, "0003_grow.breaking.sql": growFilm},
				{"0001_film.sql": makeFilm, "0002_scene.sql": makeScene, "0003_grow.breaking.sql": growFilm}},
			[]string{"s/0001_film.sql", "s/0002_scene.sql", "s/0003_grow.breaking.sql"}, []string{"film", "reel", "scene"}},
		{"other files are left alone",
			[]files{{"0001_film.sql": makeFilm, "README.md": "not SQL"}},
			[]string{"s/0001_film.sql"}, []string{"film"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db := openFresh(t)
			for i, f := range tt.starts {
				if _, err := migrate.Up(t.Context(), db, "s", f.fs()); err != nil {
					t.Fatalf("start %d: %v", i+1, err)
				}
			}
			if got := applied(t, db); !slices.Equal(got, tt.applied) {
				t.Errorf("applied %q, want %q", got, tt.applied)
			}
			if got := tables(t, db); !slices.Equal(got, tt.tables) {
				t.Errorf("tables %q, want %q", got, tt.tables)
			}
		})
	}
}

func TestSetsAreSeparate(t *testing.T) {
	t.Parallel()
	db := openFresh(t)
	for set, text := range map[string]string{"store": makeFilm, "queue": makeScene} {
		if _, err := migrate.Up(t.Context(), db, set, files{"0001.sql": text}.fs()); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := tables(t, db), []string{"film", "scene"}; !slices.Equal(got, want) {
		t.Errorf("tables %q, want %q", got, want)
	}
}

func TestADatabaseThatANewerBinaryAddedToIsUsed(t *testing.T) {
	t.Parallel()
	db := openFresh(t)
	newer := files{"0001_film.sql": makeFilm, "0003_grow.sql": growFilm}
	if _, err := migrate.Up(t.Context(), db, "s", newer.fs()); err != nil {
		t.Fatal(err)
	}
	unknown, err := migrate.Up(t.Context(), db, "s", files{"0001_film.sql": makeFilm}.fs())
	if err != nil || !slices.Equal(unknown, []string{"s/0003_grow.sql"}) {
		t.Errorf("Up = %q, %v; want to hear of s/0003_grow.sql", unknown, err)
	}
}

func TestNewerDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	db := openFresh(t)
	newer := files{"0001_film.sql": makeFilm, "0003_grow.breaking.sql": growFilm}
	if _, err := migrate.Up(t.Context(), db, "s", newer.fs()); err != nil {
		t.Fatal(err)
	}
	older := files{"0001_film.sql": makeFilm, "0002_scene.sql": makeScene}
	_, err := migrate.Up(t.Context(), db, "s", older.fs())
	if !errors.Is(err, migrate.ErrNewer) || !strings.Contains(err.Error(), "s/0003_grow.breaking.sql") {
		t.Errorf("error %v, want ErrNewer that names s/0003_grow.breaking.sql", err)
	}
	if got, want := tables(t, db), []string{"film", "reel"}; !slices.Equal(got, want) {
		t.Errorf("the refused start changed the database: tables %q, want %q", got, want)
	}
}

func TestFailingMigrationLeavesNothing(t *testing.T) {
	t.Parallel()
	db := openFresh(t)
	broken := files{
		"0001_film.sql":          makeFilm,
		"0002_bad.sql":           `CREATE TABLE half (id TEXT); INSERT INTO half VALUES ('x'); INSERT INTO nowhere VALUES (1);`,
		"0003_grow.breaking.sql": growFilm,
	}
	_, err := migrate.Up(t.Context(), db, "s", broken.fs())
	if err == nil || !strings.Contains(err.Error(), "s/0002_bad.sql") {
		t.Fatalf("error %v, want one that names s/0002_bad.sql", err)
	}
	if got, want := tables(t, db), []string{"film"}; !slices.Equal(got, want) {
		t.Errorf("tables %q, want %q", got, want)
	}
	if got, want := applied(t, db), []string{"s/0001_film.sql"}; !slices.Equal(got, want) {
		t.Errorf("applied %q, want %q", got, want)
	}

	broken["0002_bad.sql"] = `CREATE TABLE half (id TEXT);`
	if _, err := migrate.Up(t.Context(), db, "s", broken.fs()); err != nil {
		t.Fatalf("start with the mended file: %v", err)
	}
	if got, want := tables(t, db), []string{"film", "half", "reel"}; !slices.Equal(got, want) {
		t.Errorf("after mending: tables %q, want %q", got, want)
	}
}

func TestConcurrentStarters(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "spool.db")
	set := files{}
	for i := range 5 {
		set[fmt.Sprintf("%04d.sql", i)] = fmt.Sprintf(`CREATE TABLE t%d (id TEXT); INSERT INTO t%d VALUES ('once');`, i, i)
	}
	const starters = 4
	errs := make([]error, starters)
	var wg sync.WaitGroup
	for i := range starters {
		db := open(t, path) // its own pool, as its own process would have
		wg.Go(func() { _, errs[i] = migrate.Up(t.Context(), db, "s", set.fs()) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	db := open(t, path)
	if got := applied(t, db); len(got) != len(set) {
		t.Errorf("applied %q, want %d files", got, len(set))
	}
	for _, table := range tables(t, db) {
		if got := names(t, db, `SELECT id FROM `+table); len(got) != 1 {
			t.Errorf("%s was filled %d times, want once", table, len(got))
		}
	}
}
