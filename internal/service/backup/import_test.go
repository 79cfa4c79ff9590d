package backup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
)

// databases open an empty one of each kind.
var databases = map[string]func(t *testing.T) *store.Store{
	"sqlite": func(t *testing.T) *store.Store {
		return opened(store.OpenSQLiteAt(t.Context(), filepath.Join(t.TempDir(), "spool.db"), store.KnownMigrations()))(t)
	},
	"postgres": func(t *testing.T) *store.Store {
		return opened(store.OpenPostgresAt(t.Context(), pgtest.Fresh(t), store.KnownMigrations()))(t)
	},
}

func opened(s *store.Store, err error) func(*testing.T) *store.Store {
	return func(t *testing.T) *store.Store {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
}

// A new table belongs into a backup, or somebody has decided that it does not.
func TestEveryTableIsbackedUpOrNamed(t *testing.T) {
	t.Parallel()
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			there, err := (schema{s.Queries, s.SingleWriter()}).tables(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			listed := slices.Concat(backedUp, slices.Collect(maps.Keys(notBackedUp)))
			for _, table := range there {
				if !slices.Contains(listed, table) {
					t.Errorf("table %s is neither in backedUp nor in notBackedUp: does a copy of the database need its rows?", table)
				}
			}
			for _, table := range listed {
				if !slices.Contains(there, table) {
					t.Errorf("there is no table %s", table)
				}
			}
		})
	}
}

// fill stores two rows in each table, with a value in every column of the first.
func fill(t *testing.T, s *store.Store) {
	t.Helper()
	err := s.InTx(t.Context(), func(tx *store.Tx) error {
		for _, table := range backedUp {
			columns, err := schema{tx.Queries, s.SingleWriter()}.columns(t.Context(), table)
			if err != nil {
				return err
			}
			for row := range 2 {
				marks, values := []string{}, []any{}
				for i, c := range columns {
					marks = append(marks, fmt.Sprintf("$%d", i+1))
					values = append(values, someValue(table, c, row))
				}
				query := `INSERT INTO ` + table + ` (` + strings.Join(names(columns), ", ") + `) VALUES (` + strings.Join(marks, ", ") + `)`
				if _, err := tx.Exec(t.Context(), "fill "+table, query, values...); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func someValue(table string, c column, row int) any {
	switch {
	case table == "cdn_purge" && c.kind == integerColumn: // none of which may be NULL
		return int64(row)
	case c.name == "status":
		return "ready"
	case slices.Contains([]string{"id", "video_id", "watermark_id"}, c.name):
		return fmt.Sprintf("id-%d", row)
	case row == 1 && slices.Contains([]string{"metadata", "plan", "expires_at", "deleted_at", "ssim", "next_at"}, c.name) || row == 1 && c.name == "lease" && table != "cdn_purge":
		return nil
	case c.kind == integerColumn && c.name == "created_at":
		return int64(1)<<53 + 1 // which a JSON number that is read as a float is not
	case c.kind == integerColumn:
		return int64(row)
	case c.kind == floatColumn:
		return 0.1 + float64(row)
	case c.kind == boolColumn:
		return row == 0
	}
	return c.name + " \"\\\u2028\n<é>\t" + fmt.Sprint(row)
}

func export(t *testing.T, s *store.Store) ([]byte, map[string]int64) {
	t.Helper()
	rows, counts, err := Export(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return rows, counts
}

func TestRowsGoFromEachDatabaseToEach(t *testing.T) {
	t.Parallel()
	for from, openFrom := range databases {
		for to, openTo := range databases {
			t.Run(from+" to "+to, func(t *testing.T) {
				t.Parallel()
				source, target := openFrom(t), openTo(t)
				fill(t, source)
				rows, counts := export(t, source)
				if !bytes.Contains(rows, []byte("9007199254740993")) || counts["video"] != 2 {
					t.Fatalf("exported %v:\n%s", counts, rows)
				}
				refused := errors.New("not verified")
				if err := importRows(t.Context(), target, bytes.NewReader(rows), func(map[string]int64) error { return refused }); !errors.Is(err, refused) {
					t.Fatalf("importRows = %v; want what verify says", err)
				}
				var stored map[string]int64
				err := importRows(t.Context(), target, bytes.NewReader(rows), func(n map[string]int64) error { stored = n; return nil })
				if err != nil || !maps.Equal(stored, counts) {
					t.Fatalf("imported %v, %v; want %v", stored, err, counts)
				}
				if again, _ := export(t, target); !bytes.Equal(again, rows) {
					t.Errorf("the copy has\n%s\nwant\n%s", again, rows)
				}
			})
		}
	}
}

// A backup comes from outside: its names must not become SQL, and its values must fit.
func TestImportRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	s := databases["sqlite"](t)
	for text, want := range map[string]string{
		`{"table":"database_identity","columns":["one","id"]}`:           `no table "database_identity"`,
		`{"table":"video; DROP TABLE video","columns":["id"]}`:           "no table",
		`{"table":"tenant","columns":["name) VALUES (1); --"]}`:          "no column",
		"{\"table\":\"tenant\",\"columns\":[\"name\"]}\n[\"a\",\"b\"]":   `row 1 of table "tenant" has more than 1 values`,
		"{\"table\":\"tenant\",\"columns\":[\"name\"]}\n[\"a\"]\n[]":     `row 2 of table "tenant" has 0 values instead of 1`,
		"{\"table\":\"tenant\",\"columns\":[\"name\"]}\n[1]":             `row 1 of table "tenant", column name: 1 is of the wrong type`,
		"{\"table\":\"tenant\",\"columns\":[\"name\"]}\n[[1]]":           "wrong type",
		"{\"table\":\"tenant\",\"columns\":[\"name\"]}\n[{\"a\":\"b\"}]": "an object is no value",
		"{\"table\":\"tenant\",\"columns\":\"name\"}":                    "does not name its columns",
		"{\"table\":\"tenant\",\"columns\":[\"name\",\"bytes\"]}\n[\"a":  `row 1 of table "tenant", column name`,
		`["a"]`: "between the rows",
		"{\"table\":\"tenant\",\"columns\":[\"name\"]}\n{\"table\":\"tenant\",\"columns\":[\"name\"]}": "comes twice",
	} {
		if err := importRows(t.Context(), s, strings.NewReader(text), func(map[string]int64) error { return nil }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("importRows(%s) = %v; want %q", text, err, want)
		}
	}
}

// What a hostile row costs does not depend on how many values it has, or how large they are. It runs alone, because it
// measures.
func TestAHostileRowTakesLittleMemory(t *testing.T) {
	s := databases["sqlite"](t)
	const table = `{"table":"tenant","columns":["name"]}` + "\n"
	for name, tt := range map[string]struct{ begin, repeat, want string }{
		"many values":     {table + `["a"]` + "\n" + `["b"`, `,""`, `row 2 of table "tenant" has more than 1 values`},
		"a list of lists": {table + `[`, `[`, `row 1 of table "tenant", column name: [ is of the wrong type`},
		"a long value":    {table + `["`, `x`, `row 1 of table "tenant" is longer than 64 MiB`},
		"many columns":    {`{"table":"tenant","columns":["name"`, `,"name"`, "more than 1000"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := importRows(t.Context(), s, io.MultiReader(strings.NewReader(tt.begin), &endless{text: tt.repeat}), func(map[string]int64) error { return nil })
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", name, err, tt.want)
		}
		if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 300 {
			t.Errorf("%s: %d MiB were allocated", name, n)
		}
	}
}

// endless repeats a text for 100 MiB.
type endless struct {
	text string
	read int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.read > 100<<20 {
		return 0, io.EOF
	}
	for i := range p {
		p[i] = e.text[(e.read+i)%len(e.text)]
	}
	e.read += len(p)
	return len(p), nil
}

// Plans have megabytes: a statement has a few of them, however many rows it could have.
func TestImportedStatementsAreBounded(t *testing.T) {
	t.Parallel()
	s := databases["sqlite"](t)
	err := s.InTx(t.Context(), func(tx *store.Tx) error {
		in := newImporter(tx, true)
		parts := []io.Reader{strings.NewReader(`{"table":"tenant","columns":["name"]}` + "\n")}
		for i := range 4 {
			row := fmt.Sprintf("[\"%d%s\"]\n", i, strings.Repeat("x", insertBytes/4*3))
			parts = append(parts, strings.NewReader(row), readerFunc(func([]byte) (int, error) {
				if stored := in.counts["tenant"]; stored != int64(i+1)/2*2 {
					t.Errorf("after %d rows %d are stored", i+1, stored)
				}
				return 0, io.EOF
			}))
		}
		return in.read(t.Context(), io.MultiReader(parts...))
	})
	if err != nil {
		t.Fatal(err)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
