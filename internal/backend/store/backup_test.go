package store

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/spool-video/spool/internal/backend/store/migrate"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/video"
)

// backups opens an empty database of each kind, at some schema.
var backups = map[string]func(t *testing.T) *Store{
	"sqlite": func(t *testing.T) *Store {
		return opened(OpenSQLiteAt(t.Context(), filepath.Join(t.TempDir(), "spool.db"), KnownMigrations()))(t)
	},
	"postgres": func(t *testing.T) *Store {
		return opened(OpenPostgresAt(t.Context(), pgtest.Fresh(t), KnownMigrations()))(t)
	},
}

func opened(s *Store, err error) func(*testing.T) *Store {
	return func(t *testing.T) *Store {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
}

// A new table belongs into a backup, or somebody has decided that it does not.
func TestEveryTableIsBackedUpOrNamed(t *testing.T) {
	t.Parallel()
	for name, open := range backups {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			there, err := s.tables(t.Context(), s.pool != nil)
			if err != nil {
				t.Fatal(err)
			}
			listed := slices.Concat(BackedUp, slices.Collect(maps.Keys(NotBackedUp)))
			for _, table := range there {
				if !slices.Contains(listed, table) {
					t.Errorf("table %s is neither in store.BackedUp nor in store.NotBackedUp: does a copy of the database need its rows?", table)
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
func fill(t *testing.T, s *Store) {
	t.Helper()
	err := s.InTx(t.Context(), func(tx *Tx) error {
		for _, table := range BackedUp {
			columns, key, err := tx.columns(t.Context(), tx.postgres, table)
			if err != nil {
				return err
			}
			for row := range 2 {
				marks, values := []string{}, []any{}
				for i, c := range columns {
					marks = append(marks, fmt.Sprintf("$%d", i+1))
					values = append(values, someValue(table, c, row))
				}
				query := `INSERT INTO ` + table + ` (` + columnNames(columns) + `) VALUES (` + strings.Join(marks, ", ") + `)`
				if _, err := tx.db.ExecContext(t.Context(), query, values...); err != nil {
					return fmt.Errorf("%s %v: %w", table, key, err)
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
	case c.name == "video_id" || c.name == "id":
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

func export(t *testing.T, s *Store) ([]byte, map[string]int64) {
	t.Helper()
	view, err := OpenReadView(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	var out bytes.Buffer
	counts, err := view.Export(t.Context(), &out)
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), counts
}

func TestRowsGoFromEachDatabaseToEach(t *testing.T) {
	t.Parallel()
	for from, openFrom := range backups {
		for to, openTo := range backups {
			t.Run(from+" to "+to, func(t *testing.T) {
				t.Parallel()
				source, target := openFrom(t), openTo(t)
				fill(t, source)
				rows, counts := export(t, source)
				if !bytes.Contains(rows, []byte("9007199254740993")) || counts["video"] != 2 {
					t.Fatalf("exported %v:\n%s", counts, rows)
				}
				refused := errors.New("not verified")
				if _, err := ImportRows(t.Context(), target, bytes.NewReader(rows), func(map[string]int64) error { return refused }); !errors.Is(err, refused) {
					t.Fatalf("Import = %v; want what verify says", err)
				}
				stored, err := ImportRows(t.Context(), target, bytes.NewReader(rows), func(map[string]int64) error { return nil })
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
	s := backups["sqlite"](t)
	for text, want := range map[string]string{
		`{"table":"database_identity","columns":["one","id"]}`:          `no table "database_identity"`,
		`{"table":"video; DROP TABLE video","columns":["id"]}`:          "no table",
		`{"table":"tenant","columns":["name) VALUES (1); --"]}`:         "no column",
		"{\"table\":\"tenant\",\"columns\":[\"name\"]}\n[\"a\",\"b\"]":  "2 values instead of 1",
		"{\"table\":\"tenant\",\"columns\":[\"name\"]}\n[1]":            "wrong type",
		"{\"table\":\"tenant\",\"columns\":[\"name\",\"bytes\"]}\n[\"a": "a row of table tenant",
		`["a"]`: "instead of 0",
		"{\"table\":\"tenant\",\"columns\":[\"name\"]}\n{\"table\":\"tenant\",\"columns\":[\"name\"]}": "comes twice",
	} {
		if _, err := ImportRows(t.Context(), s, strings.NewReader(text), func(map[string]int64) error { return nil }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ImportRows(%s) = %v; want %q", text, err, want)
		}
	}
}

// The rows of an older version are stored in its own schema. Later migrations then change them.
func TestOlderRowsAreMigrated(t *testing.T) {
	t.Parallel()
	schema, err := migrations.ReadFile("migrations/0001_schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	newer := fstest.MapFS{
		"migrations/0001_schema.sql": {Data: schema},
		"migrations/0002_admin.sql":  {Data: []byte(`UPDATE api_key SET scopes = scopes || ',admin'`)},
	}
	path := filepath.Join(t.TempDir(), "spool.db")
	s := opened(openSQLiteWith(t.Context(), path, subset{newer, []string{"0001_schema.sql"}}))(t)
	const rows = `{"table":"api_key","columns":["id","name","tenant","scopes","hash","created_at"]}` + "\n" + `["k","n","t","read","h",1]`
	if _, err := ImportRows(t.Context(), s, strings.NewReader(rows), func(map[string]int64) error { return nil }); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = opened(openSQLiteWith(t.Context(), path, newer))(t)
	scopes, err := s.queryNames(t.Context(), `SELECT scopes FROM api_key`)
	if err != nil || !slices.Equal(scopes, []string{"read,admin"}) {
		t.Errorf("the scopes are %q, %v; want the one that a migration adds", scopes, err)
	}
}

// A build from before the first release had other migrations.
func TestAnUnreleasedDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	old := fstest.MapFS{"migrations/0001_videos.sql": {Data: []byte(`CREATE TABLE video (id TEXT PRIMARY KEY)`)}}
	file, address := filepath.Join(t.TempDir(), "spool.db"), pgtest.Fresh(t)
	for name, at := range map[string]struct {
		make, open, connect func() (*Store, error)
	}{
		"sqlite": {
			func() (*Store, error) { return openSQLiteWith(t.Context(), file, old) },
			func() (*Store, error) { return OpenSQLite(t.Context(), file) },
			func() (*Store, error) { return ConnectSQLite(t.Context(), file) },
		},
		"postgres": {
			func() (*Store, error) { return openPostgresWith(t.Context(), address, defaultTimeouts, old) },
			func() (*Store, error) { return OpenPostgres(t.Context(), address) },
			func() (*Store, error) { return ConnectPostgres(t.Context(), address) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			opened(at.make())(t)
			_, err := at.open()
			if !errors.Is(err, migrate.ErrUnreleased) || !strings.Contains(err.Error(), "start with an empty database") {
				t.Errorf("opened: %v; want it refused with what to do", err)
			}
			if _, err := ExamineForRestore(t.Context(), opened(at.connect())(t)); !errors.Is(err, migrate.ErrUnreleased) {
				t.Errorf("a restore into it: %v; want it refused", err)
			}
		})
	}
}

func TestAReadViewSeesOneMoment(t *testing.T) {
	t.Parallel()
	for name, open := range backups {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ctx := open(t), t.Context()
			insert := func(id video.ID) {
				v := video.Video{ID: id, Tenant: "t", Status: video.PendingUpload, CreatedAt: time.UnixMilli(1), UploadExpiresAt: time.UnixMilli(1)}
				if err := s.InTx(ctx, func(tx *Tx) error { return tx.InsertVideo(ctx, v) }); err != nil {
					t.Fatal(err)
				}
			}
			insert("a")
			view, err := OpenReadView(ctx, s)
			if err != nil {
				t.Fatal(err)
			}
			defer view.Close()
			insert("b")
			if page, err := view.Videos(ctx, "", 10); err != nil || len(page) != 1 || page[0].ID != "a" {
				t.Errorf("the view has %v, %v; want a alone", page, err)
			}
		})
	}
}

func TestHoldsExpire(t *testing.T) {
	t.Parallel()
	for name, open := range backups {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ctx := open(t), t.Context()
			holds := BackupHoldsOf(s)
			held := func() (is bool) {
				t.Helper()
				err := s.InTx(ctx, func(tx *Tx) (err error) { is, err = BackupRuns(ctx, tx); return err })
				if err != nil {
					t.Fatal(err)
				}
				return is
			}
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			if held() {
				t.Error("held without a backup")
			}
			must(holds.Take(ctx, "a", time.Hour))
			must(holds.Take(ctx, "b", -time.Second))
			if !held() {
				t.Error("not held")
			}
			renew := func(id string) bool {
				t.Helper()
				is, err := holds.Renew(ctx, id, time.Hour)
				must(err)
				return is
			}
			if !renew("a") || renew("b") || renew("c") {
				t.Error("of a live, a dead and an unknown hold, not the live one alone is renewed")
			}
			must(holds.Release(ctx, "a"))
			if held() {
				t.Error("held by a backup that is dead")
			}
		})
	}
}

func TestTheNewestCompleteBackupIsKnown(t *testing.T) {
	t.Parallel()
	for name, open := range backups {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ctx := open(t), t.Context()
			noon := time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
			want := time.Time{}
			for _, began := range []time.Time{{}, noon, noon.Add(time.Hour), noon} { // the last one began before, and took longer
				if !began.IsZero() {
					if err := RecordBackup(ctx, s, began); err != nil {
						t.Fatal(err)
					}
				}
				if began.After(want) {
					want = began
				}
				if got, err := LastBackup(ctx, s); err != nil || !got.Equal(want) {
					t.Errorf("after a backup that began at %s the newest is of %s, %v; want %s", began, got, err, want)
				}
			}
		})
	}
}

// Nothing that a restore leaves at any moment may look like a database that is used, nor the reverse.
func TestAnUnfinishedRestoreIsFound(t *testing.T) {
	t.Parallel()
	file, address := filepath.Join(t.TempDir(), "spool.db"), pgtest.Fresh(t)
	for name, at := range map[string]struct {
		connect func() (*Store, error)
		open    func(migrations []string) (*Store, error)
	}{
		"sqlite": {func() (*Store, error) { return ConnectSQLite(t.Context(), file) },
			func(m []string) (*Store, error) { return OpenSQLiteAt(t.Context(), file, m) }},
		"postgres": {func() (*Store, error) { return ConnectPostgres(t.Context(), address) },
			func(m []string) (*Store, error) { return OpenPostgresAt(t.Context(), address, m) }},
	} {
		t.Run(name, func(t *testing.T) {
			want := func(when string, want RestoreFound) {
				t.Helper()
				found, err := ExamineForRestore(t.Context(), opened(at.connect())(t))
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
			want("an empty database", RestoreFound{})
			all := KnownMigrations()
			opened(at.open(nil))(t)
			want("the table of migrations", RestoreFound{Used: true, Unfinished: true})
			s := opened(at.open(all))(t)
			want("tables without rows", RestoreFound{Used: true, Unfinished: true})
			must(DropTables(t.Context(), s))
			want("no tables", RestoreFound{Used: true, Unfinished: true})
			s = opened(at.open(all))(t)
			must(BeginRestore(t.Context(), s, "me", time.Now()))
			begun := RestoreFound{Used: true, Unfinished: true, ID: "me"}
			want("begun", begun)
			fill(t, s)
			must(DropTables(t.Context(), s))
			want("dropped", begun)
			s = opened(at.open(all))(t)
			want("made again", begun)
			must(BeginRestore(t.Context(), s, "me", time.Now()))
			fill(t, s)
			must(s.InTx(t.Context(), func(tx *Tx) error { return EndRestore(t.Context(), tx) }))
			want("ended", RestoreFound{Used: true})
			if err := BeginRestore(t.Context(), s, "other", time.Now()); err == nil {
				t.Error("a restore begins in the database of another")
			}
		})
	}
}

// Keys are made before the first server runs, which gives a database its id.
func TestADatabaseWithRowsIsNotUnfinished(t *testing.T) {
	t.Parallel()
	for name, open := range backups {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			fill(t, s)
			if found, err := ExamineForRestore(t.Context(), s); err != nil || found != (RestoreFound{Used: true}) {
				t.Errorf("a database with rows is %+v, %v", found, err)
			}
		})
	}
}

// Plans have megabytes: a statement has a few of them, however many rows it could have.
func TestImportedStatementsAreBounded(t *testing.T) {
	t.Parallel()
	s := backups["sqlite"](t)
	err := s.InTx(t.Context(), func(tx *Tx) error {
		in := &importer{tx: tx, counts: map[string]int64{}}
		if err := in.line(t.Context(), []byte(`{"table":"tenant","columns":["name"]}`)); err != nil {
			return err
		}
		for i := range 4 {
			row := fmt.Sprintf(`["%d%s"]`, i, strings.Repeat("x", insertBytes/4*3))
			if err := in.line(t.Context(), []byte(row)); err != nil {
				return err
			}
			if stored := in.counts["tenant"]; stored != int64(i+1)/2*2 {
				t.Errorf("after %d rows %d are stored", i+1, stored)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
