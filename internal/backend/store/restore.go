package store

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/spool-video/spool/internal/backend/store/migrate"
)

// OpenSQLiteAt creates or opens the database file at path with the schema that it has after some of
// the migrations, so that the rows of an older version fit. What later migrations do to rows, they do
// when the database is next opened by OpenSQLite.
func OpenSQLiteAt(ctx context.Context, path string, applied []string) (*Store, error) {
	return openSQLiteWith(ctx, path, subset{migrations, applied})
}

// OpenPostgresAt is OpenSQLiteAt for PostgreSQL.
func OpenPostgresAt(ctx context.Context, address string, applied []string) (*Store, error) {
	return openPostgresWith(ctx, address, defaultTimeouts, subset{migrations, applied})
}

// subset is some of the files in a file system.
type subset struct {
	fs.ReadDirFS
	names []string
}

// ReadDir lists the files of the subset.
func (s subset) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := s.ReadDirFS.ReadDir(name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return !e.IsDir() && !slices.Contains(s.names, e.Name())
	}), err
}

// Restoring reports whether a restore or a migration into this database has begun and not ended.
func Restoring(ctx context.Context, s *Store) (is bool, err error) {
	var n int
	err = s.db.QueryRowContext(ctx, `SELECT count(*) FROM restore_in_progress`).Scan(&n)
	return n > 0, Wrap("look for an unfinished restore", err)
}

// BeginRestore marks a new database as being filled and gives it its id, in one transaction: a database
// with an id and without a mark is in use.
func BeginRestore(ctx context.Context, s *Store, id string, now time.Time) error {
	return s.InTx(ctx, func(tx *Tx) error {
		if _, err := tx.Exec(ctx, "identify the database", `
			INSERT INTO database_identity (one, id) VALUES (1, $1) ON CONFLICT (one) DO NOTHING`, id); err != nil {
			return err
		}
		ids, err := tx.queryNames(ctx, `SELECT id FROM database_identity`)
		if err != nil {
			return err
		}
		if !slices.Equal(ids, []string{id}) {
			return errors.New("another process has begun to use this database")
		}
		_, err = tx.Exec(ctx, "begin to restore", `
			INSERT INTO restore_in_progress (one, begun_at) VALUES (1, $1) ON CONFLICT (one) DO NOTHING`, Millis(now))
		return err
	})
}

// EndRestore lets the database be used when tx has committed.
func EndRestore(ctx context.Context, tx *Tx) error {
	_, err := tx.Exec(ctx, "end the restore", `DELETE FROM restore_in_progress`)
	return err
}

// RestoreFound describes the database that a restore would fill.
type RestoreFound struct {
	Used       bool   // it has the tables of Spool
	Unfinished bool   // by a restore that did not end; DropTables removes what it left
	ID         string // its id, if that is so; "": the restore ended before it stored anything
}

// ExamineForRestore looks at a database before anything is changed in it. Tables without a row and
// without an id, which a server gives its database when it starts, are what a restore leaves that was
// killed while it made them.
func ExamineForRestore(ctx context.Context, s *Store) (found RestoreFound, err error) {
	tables, err := s.tables(ctx, s.pool != nil)
	if err != nil {
		return found, err
	}
	if found.Used = slices.Contains(tables, "migration"); !found.Used {
		return found, nil
	}
	applied, err := s.queryNames(ctx, appliedMigrations)
	if err != nil {
		return found, err
	}
	if len(applied) > 0 && !slices.Contains(applied, KnownMigrations()[0]) {
		return found, migrate.ErrUnreleased
	}
	var ids []string
	if slices.Contains(tables, "database_identity") {
		if ids, err = s.queryNames(ctx, `SELECT id FROM database_identity`); err != nil {
			return found, err
		}
	}
	if len(ids) == 0 {
		found.Unfinished, err = s.allEmpty(ctx, tables)
		return found, err
	}
	if !slices.Contains(tables, "restore_in_progress") {
		return found, nil
	}
	if found.Unfinished, err = Restoring(ctx, s); found.Unfinished {
		found.ID = ids[0]
	}
	return found, err
}

// allEmpty reports whether none of the existing tables of BackedUp has a row.
func (s *Store) allEmpty(ctx context.Context, there []string) (bool, error) {
	for _, table := range BackedUp {
		if !slices.Contains(there, table) {
			continue
		}
		var has bool
		if err := s.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM `+table+`)`).Scan(&has); err != nil || has {
			return false, Wrap("look for rows", err)
		}
	}
	return true, nil
}

// ConnectPostgres opens a database without touching its schema.
func ConnectPostgres(ctx context.Context, address string) (*Store, error) {
	return openPostgresWith(ctx, address, defaultTimeouts, nil)
}

// ConnectSQLite is ConnectPostgres for SQLite.
func ConnectSQLite(ctx context.Context, path string) (*Store, error) {
	return openSQLiteWith(ctx, path, nil)
}

// markTables are what DropTables leaves: the tables that say whose an unfinished restore is, and the table of
// migrations, which other sets use, too.
var markTables = []string{"migration", "database_identity", "restore_in_progress"}

// DropTables removes the tables of an unfinished restore, so that it can begin again. The database stays
// marked as unfinished, with its id: a process that is killed meanwhile leaves what it found.
func DropTables(ctx context.Context, s *Store) error {
	if s.pool == nil {
		return s.dropSQLite(ctx)
	}
	names := slices.Clone(BackedUp)
	for name := range NotBackedUp {
		if !slices.Contains(markTables, name) {
			names = append(names, name)
		}
	}
	return s.ChangeSchema(ctx, func(ctx context.Context, pool *pgxpool.Pool) error {
		tx, err := pool.Begin(ctx)
		if err != nil {
			return err
		}
		defer tx.Rollback(ctx) // does nothing after the commit
		if _, err := tx.Exec(ctx, `DROP TABLE IF EXISTS `+strings.Join(names, ", ")+` CASCADE`); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM migration WHERE set_name = 'store'`); err != nil {
			return err
		}
		return tx.Commit(ctx)
	})
}

// dropSQLite is DropTables for SQLite, whose file has nothing but the tables of Spool.
func (s *Store) dropSQLite(ctx context.Context) error {
	names, err := s.tables(ctx, false)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(markTables, name) })
	// A table is dropped after the tables that refer to it. Tables of a queue, which are not listed, refer to none.
	slices.SortStableFunc(names, func(a, b string) int { return slices.Index(BackedUp, b) - slices.Index(BackedUp, a) })
	return s.InTx(ctx, func(tx *Tx) error {
		for _, name := range names {
			if _, err := tx.Exec(ctx, "drop tables", `DROP TABLE "`+name+`"`); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, "forget migrations", `DELETE FROM migration`)
		return err
	})
}

const (
	// maxLine is the longest row that is read. Plans of long videos have megabytes.
	maxLine = 256 << 20
	// insertRows, insertValues and insertBytes bound one INSERT.
	insertRows, insertValues = 200, 20_000
	insertBytes              = 8 << 20
)

// ImportRows stores what Export has written, in one transaction, which commits only if verify agrees with
// how many rows each table got.
func ImportRows(ctx context.Context, s *Store, r io.Reader, verify func(rows map[string]int64) error) (map[string]int64, error) {
	var counts map[string]int64
	err := s.InTx(ctx, func(tx *Tx) error {
		if counts != nil {
			return errors.New("the database interrupted the import: try again")
		}
		in := &importer{tx: tx, counts: map[string]int64{}}
		counts = in.counts
		if err := in.read(ctx, r); err != nil {
			return fmt.Errorf("import rows: %w", err)
		}
		return verify(in.counts)
	})
	return counts, err
}

// importer reads the rows of a backup.
type importer struct {
	tx      *Tx
	counts  map[string]int64
	table   string
	columns []column
	batch   []any
	rows    int
	bytes   int // that the rows of the batch have as lines
}

func (in *importer) read(ctx context.Context, r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for lines.Scan() {
		if err := in.line(ctx, lines.Bytes()); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return in.flush(ctx)
}

func (in *importer) line(ctx context.Context, line []byte) error {
	if len(line) > 0 && line[0] == '{' {
		if err := in.flush(ctx); err != nil {
			return err
		}
		return in.begin(ctx, line)
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	var values []any
	if err := dec.Decode(&values); err != nil {
		return fmt.Errorf("a row of table %s: %w", in.table, err)
	}
	if len(values) != len(in.columns) || in.table == "" {
		return fmt.Errorf("a row of table %q has %d values instead of %d", in.table, len(values), len(in.columns))
	}
	for i, v := range values {
		stored, err := in.columns[i].parse(v)
		if err != nil {
			return fmt.Errorf("column %s of table %s: %w", in.columns[i].name, in.table, err)
		}
		in.batch = append(in.batch, stored)
	}
	in.rows, in.bytes = in.rows+1, in.bytes+len(line)
	if in.rows == insertRows || len(in.batch)+len(in.columns) > insertValues || in.bytes >= insertBytes {
		return in.flush(ctx)
	}
	return nil
}

// begin starts with the rows of a table. The names of the table and of its columns become a part of a
// statement only if the schema has them.
func (in *importer) begin(ctx context.Context, line []byte) error {
	var t tableLine
	if err := json.Unmarshal(line, &t); err != nil {
		return err
	}
	if !slices.Contains(BackedUp, t.Table) {
		return fmt.Errorf("there is no table %q", t.Table)
	}
	if _, twice := in.counts[t.Table]; twice {
		return fmt.Errorf("table %s comes twice", t.Table)
	}
	known, _, err := in.tx.columns(ctx, in.tx.postgres, t.Table)
	if err != nil {
		return err
	}
	in.columns = in.columns[:0]
	for _, name := range t.Columns {
		i := slices.IndexFunc(known, func(c column) bool { return c.name == name })
		if i < 0 {
			return fmt.Errorf("table %s has no column %q", t.Table, name)
		}
		in.columns = append(in.columns, known[i])
	}
	in.table, in.counts[t.Table] = t.Table, 0
	return nil
}

func (in *importer) flush(ctx context.Context) error {
	if in.rows == 0 {
		return nil
	}
	var text strings.Builder
	text.WriteString(`INSERT INTO ` + in.table + ` (` + columnNames(in.columns) + `) VALUES `)
	for n := range in.batch {
		switch {
		case n == 0:
			text.WriteString("(")
		case n%len(in.columns) == 0:
			text.WriteString("), (")
		default:
			text.WriteString(", ")
		}
		text.WriteString("$" + strconv.Itoa(n+1))
	}
	text.WriteString(")")
	stored, err := in.tx.Exec(ctx, "store rows of "+in.table, text.String(), in.batch...)
	in.counts[in.table] += stored
	clear(in.batch) // large values would live until others take their places
	in.batch, in.rows, in.bytes = in.batch[:0], 0, 0
	return err
}

// parse returns what is stored for a value of JSON.
func (c column) parse(value any) (any, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case json.Number:
		if c.kind == integerColumn {
			return strconv.ParseInt(string(v), 10, 64)
		}
		if c.kind == floatColumn {
			return strconv.ParseFloat(string(v), 64)
		}
	case bool:
		if c.kind == boolColumn {
			return v, nil
		}
	case string:
		if c.kind == textColumn {
			return v, nil
		}
		if c.kind == floatColumn { // infinite
			return strconv.ParseFloat(v, 64)
		}
	case map[string]any:
		if text, ok := v["base64"].(string); ok && c.kind == textColumn {
			b, err := base64.StdEncoding.DecodeString(text)
			return string(b), err
		}
	}
	return nil, fmt.Errorf("%.40v is of the wrong type", value)
}

// Restored adapts the rows of a backup to their new place. Uploads that were not completed have to be
// sent again: their bytes are not in a backup.
func Restored(ctx context.Context, tx *Tx) error {
	if _, err := tx.Exec(ctx, "forget unfinished uploads", `
		UPDATE video SET source_size = NULL WHERE completed_at IS NULL AND source_size IS NOT NULL`); err != nil {
		return err
	}
	return tx.RecountTenants(ctx)
}

// OtherSessions returns how many connections other processes of Spool have to the database. The caller
// does not count itself, because it connects with another application_name. For SQLite it returns 0: its file has a
// lock of its own.
func OtherSessions(ctx context.Context, s *Store) (n int, err error) {
	if s.pool == nil {
		return 0, nil
	}
	err = s.db.QueryRowContext(ctx, `
		SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'spool'`).Scan(&n)
	return n, Wrap("look for other processes", err)
}
