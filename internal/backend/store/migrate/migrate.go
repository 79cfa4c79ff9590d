// Package migrate brings a database up to the schema that this binary expects. It
// owns the table of applied migrations and nothing else: the files belong to the
// packages whose tables they create. There are no down migrations; a mistake is
// fixed by another migration.
package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// breaking is the suffix of a file after which older binaries cannot work. All other
// files only add, so that old and new binaries work side by side during an upgrade.
const breaking = ".breaking.sql"

// ofSQLite and ofPostgres are the suffixes of files for one of the databases, which has something that the other one
// makes in another way.
const (
	ofSQLite   = ".sqlite.sql"
	ofPostgres = ".postgres.sql"
)

// ErrNewer means that the database has a breaking migration which this binary does
// not know. Continuing could destroy what the newer binary wrote.
var ErrNewer = errors.New("the database was made by a newer Spool")

// ErrUnreleased means that the database lacks the first of our migrations, although others were applied: it was
// made before the first release, and no migration leads from there to here.
var ErrUnreleased = errors.New("the database was made by a build of Spool from before its first release: start with an empty database and an empty data folder")

// Up applies the *.sql files at the top of files in the order of their names, each
// once, and records them under set. A file and its record are one transaction, so a
// file that fails leaves nothing behind and is tried again at the next start. (On
// PostgreSQL, files that only create indexes are an exception: they are built
// without blocking writers.) Several processes may call Up at once: one of them
// applies a file while the others wait. It returns the names of files that a newer
// binary has applied and this one does not know.
//
// On SQLite the pool should be opened with _txlock=immediate and a busy_timeout, so
// that SQLite does the waiting; on PostgreSQL without a lock_timeout.
func Up(ctx context.Context, db *sql.DB, set string, files fs.FS) (newer []string, err error) {
	names, err := fileNames(set, files, isPostgres(db))
	if err != nil {
		return nil, err
	}
	applied, err := history(ctx, db, set)
	if err != nil {
		return nil, fmt.Errorf("read the migrations of %s: %w", set, err)
	}
	missing, newer, err := compare(set, names, applied)
	if err != nil {
		return nil, err
	}
	for _, name := range missing {
		if err := apply(ctx, db, set, name, files); err != nil {
			return nil, fmt.Errorf("apply migration %s/%s: %w", set, name, err)
		}
	}
	return newer, nil
}

// UpToDate reports whether Up would apply nothing to a database of PostgreSQL, and returns what Up would return
// then. It waits for no lock: most starts find nothing to do.
func UpToDate(ctx context.Context, db *sql.DB, set string, files fs.FS) (yes bool, newer []string, err error) {
	names, err := fileNames(set, files, true)
	if err != nil {
		return false, nil, err
	}
	applied, err := readHistory(ctx, db, set)
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == undefinedTable {
		return false, nil, nil
	}
	if err != nil {
		return false, nil, fmt.Errorf("read the migrations of %s: %w", set, err)
	}
	missing, newer, err := compare(set, names, applied)
	return err == nil && len(missing) == 0, newer, err
}

// undefinedTable is what PostgreSQL says of a table that is not there.
const undefinedTable = "42P01"

// fileNames returns the names of the files for a database, in the order in which they are applied.
func fileNames(set string, files fs.FS, postgres bool) ([]string, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("list the migrations of %s: %w", set, err)
	}
	other := ofPostgres
	if postgres {
		other = ofSQLite
	}
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, other) }), nil
}

// compare returns which of the files are not applied yet, and which applied ones only a newer binary knows.
func compare(set string, names, applied []string) (missing, newer []string, err error) {
	if len(applied) > 0 && len(names) > 0 && !slices.Contains(applied, names[0]) {
		return nil, nil, ErrUnreleased
	}
	for _, name := range applied {
		if slices.Contains(names, name) {
			continue
		}
		if strings.HasSuffix(name, breaking) {
			return nil, nil, fmt.Errorf("%w: it has migration %s/%s, which this one does not know", ErrNewer, set, name)
		}
		newer = append(newer, set+"/"+name)
	}
	missing = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(applied, name) })
	return missing, newer, nil
}

// history creates the table of migrations if it is missing, and returns the names
// of the applied ones.
func history(ctx context.Context, db *sql.DB, set string) ([]string, error) {
	const table = `
		CREATE TABLE IF NOT EXISTS migration (
			set_name   TEXT   NOT NULL,
			name       TEXT   NOT NULL,
			applied_at BIGINT NOT NULL,
			PRIMARY KEY (set_name, name)
		)`
	var names []string
	err := inTx(ctx, db, func(tx *sql.Tx) error {
		there, err := hasHistory(ctx, db, tx)
		if err != nil {
			return err
		}
		if !there {
			if _, err := tx.ExecContext(ctx, table); err != nil {
				return fmt.Errorf("create the table of migrations: %w", err)
			}
		}
		names, err = readHistory(ctx, tx, set)
		return err
	})
	return names, err
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func readHistory(ctx context.Context, db querier, set string) (names []string, err error) {
	rows, err := db.QueryContext(ctx, `SELECT name FROM migration WHERE set_name = $1 ORDER BY name`, set)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// hasHistory reports whether PostgreSQL has the table of migrations. A user who may
// not create tables may not even say IF NOT EXISTS, and such a user can work with a
// database that is up to date.
func hasHistory(ctx context.Context, db *sql.DB, tx *sql.Tx) (there bool, err error) {
	if !isPostgres(db) {
		return false, nil
	}
	err = tx.QueryRowContext(ctx, `SELECT to_regclass('migration') IS NOT NULL`).Scan(&there)
	return there, err
}

// record stores that a file is applied.
const record = `
	INSERT INTO migration (set_name, name, applied_at) VALUES ($1, $2, $3)
	ON CONFLICT (set_name, name) DO NOTHING`

// apply runs one file, unless another process has done so since history was read.
// The record is written first: that makes the second process wait here until the
// first has committed or failed.
func apply(ctx context.Context, db *sql.DB, set, name string, files fs.FS) error {
	script, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	if list := onlyIndexes(string(script)); list != nil && isPostgres(db) {
		return buildIndexes(ctx, db, set, name, list)
	}
	return inTx(ctx, db, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, record, set, name, time.Now().UnixMilli())
		if err != nil {
			return fmt.Errorf("record it: %w", err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		_, err = tx.ExecContext(ctx, string(script))
		return err
	})
}

// inTx runs f in a transaction that has the schema to itself.
func inTx(ctx context.Context, db *sql.DB, f func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback() // does nothing after the commit

	if err := lock(ctx, db, tx); err != nil {
		return fmt.Errorf("lock the schema: %w", err)
	}
	if err := f(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// lockKey is the advisory lock of migrations on PostgreSQL.
const lockKey = 0x5b00_1dbd

// lock makes other processes wait from the first statement on. On SQLite BEGIN
// IMMEDIATE has done so already. On PostgreSQL two concurrent CREATE TABLE IF NOT
// EXISTS can fail. The lock ends with the transaction, also if the process is
// killed.
func lock(ctx context.Context, db *sql.DB, tx *sql.Tx) error {
	if !isPostgres(db) {
		return nil
	}
	_, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, lockKey)
	return err
}

func isPostgres(db *sql.DB) bool {
	_, ok := db.Driver().(*stdlib.Driver)
	return ok
}
