// Package store keeps what Spool knows about videos, keys and work in a SQL
// database. One SQL text serves every engine: placeholders are numbered by
// first appearance, times are milliseconds, ids and JSON are text. The store
// checks the legality of each status step in its UPDATE statements; what a step
// means is decided in package app.
package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/spool-video/spool/internal/store/migrate"
	"github.com/spool-video/spool/internal/video"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Store is an open database. Reads may run at any time; every write happens in
// a transaction that InTx opens.
type Store struct {
	queries
	write *sql.DB
	read  *sql.DB
}

// Tx is a transaction. It is also what a queue enqueues in.
type Tx struct {
	queries
	querier
	committed []func()
}

// OnCommit registers f to run after a successful commit, and never otherwise.
func (t *Tx) OnCommit(f func()) { t.committed = append(t.committed, f) }

// queries are the statements that work inside a transaction as well as outside.
type queries struct{ db querier }

type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// OpenSQLite opens, and creates if need be, the database file at path.
//
// SQLite has one writer at a time, so the writing pool has one connection and
// every transaction starts as a writer: two can never deadlock by upgrading.
// Commits are synced to the disk: what a client was told survives a power cut.
func OpenSQLite(ctx context.Context, path string) (*Store, error) {
	write, err := openSQLite(path, url.Values{
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)"},
	})
	if err != nil {
		return nil, err
	}
	write.SetMaxOpenConns(1)
	read, err := openSQLite(path, url.Values{
		"_pragma": {"busy_timeout(10000)", "query_only(1)"},
	})
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	read.SetMaxOpenConns(8)
	read.SetMaxIdleConns(8)
	s := &Store{queries: queries{read}, write: write, read: read}
	if err := s.check(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", path, err), s.Close())
	}
	return s, nil
}

func openSQLite(path string, options url.Values) (*sql.DB, error) {
	return sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: options.Encode()}).String())
}

// check reads back the settings that correctness rests on, because a driver may
// silently ignore an option it does not know, and brings the schema up to date.
func (s *Store) check(ctx context.Context) error {
	var mode string
	var keys, sync int
	if err := s.write.QueryRowContext(ctx, `PRAGMA journal_mode`).Scan(&mode); err != nil {
		return err
	}
	if err := s.write.QueryRowContext(ctx, `PRAGMA foreign_keys`).Scan(&keys); err != nil {
		return err
	}
	if err := s.write.QueryRowContext(ctx, `PRAGMA synchronous`).Scan(&sync); err != nil {
		return err
	}
	if mode != "wal" || keys != 1 || sync != 2 {
		return fmt.Errorf("SQLite settings were not taken: journal_mode=%s foreign_keys=%d synchronous=%d", mode, keys, sync)
	}
	return s.Migrate(ctx, "store", migrations)
}

// Migrate applies the migrations of a set that lives in this database too, such
// as the queue's.
func (s *Store) Migrate(ctx context.Context, set string, files fs.FS) error {
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		return err
	}
	return migrate.Up(ctx, s.write, set, sub)
}

// Writer returns the pool that writes, for a queue that keeps its tasks in the
// same database. It has one connection: never use it inside InTx.
func (s *Store) Writer() *sql.DB { return s.write }

// Reader returns the pool that only reads.
func (s *Store) Reader() *sql.DB { return s.read }

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, `SELECT 1`)
	return wrap("ping database", err)
}

// Close closes the database.
func (s *Store) Close() error { return errors.Join(s.read.Close(), s.write.Close()) }

// InTx runs f in a transaction. It commits when f returns nil, and rolls back,
// returning f's error, otherwise.
func (s *Store) InTx(ctx context.Context, f func(*Tx) error) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return wrap("begin", err)
	}
	t := &Tx{queries: queries{tx}, querier: tx}
	defer tx.Rollback() // does nothing after a commit
	if err := f(t); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return wrap("commit", err)
	}
	for _, f := range t.committed {
		f()
	}
	return nil
}

// wrap says what was being done, and tells trouble that passes from a mistake
// of ours: the first is worth another try.
func wrap(op string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	err = fmt.Errorf("%s: %w", op, err)
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return &video.Error{Kind: video.InsufficientStorage, Code: "insufficient_storage", Msg: "The server has no room left.", RetryAfter: time.Minute, Err: err}
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
		return &video.Error{Kind: video.Unavailable, Code: "database_unavailable", Msg: "The database does not answer. Try again shortly.", RetryAfter: 2 * time.Second, Err: err}
	}
	return err
}

// millis stores a time; the zero time is NULL.
func millis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

func fromMillis(ms sql.NullInt64) time.Time {
	if !ms.Valid {
		return time.Time{}
	}
	return time.UnixMilli(ms.Int64).UTC()
}

// affected reports how many rows a statement changed.
func (q queries) affected(ctx context.Context, op, query string, args ...any) (int64, error) {
	res, err := q.db.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, wrap(op, err)
	}
	n, err := res.RowsAffected()
	return n, wrap(op, err)
}
