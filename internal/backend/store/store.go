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

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // registers the engine

	"github.com/spool-video/spool/internal/backend/store/migrate"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Store is an open database. Reads may run at any time; every write but
// SetProgress happens in a transaction that InTx opens.
type Store struct {
	queries
	write *sql.DB
	read  *sql.DB
	pool  *pgxpool.Pool // of PostgreSQL, under write and read; nil on SQLite
	newer []string      // migrations that this binary does not know
	beat  time.Duration // how often PostgreSQL hears of a transaction that waits for something else; 0: never
}

// Tx is a transaction. It is also what a queue enqueues in.
type Tx struct {
	queries
	querier
	conn      *sql.Conn
	postgres  bool
	beat      time.Duration
	committed []func()
}

// OnCommit registers f to run after a successful commit, and never otherwise.
func (t *Tx) OnCommit(f func()) { t.committed = append(t.committed, f) }

// ExecContext is for the queue, which has statements of its own.
func (t *Tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	res, err := t.querier.ExecContext(ctx, query, args...)
	return res, wrap("change tasks", err)
}

// QueryContext is for the queue, too.
func (t *Tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := t.querier.QueryContext(ctx, query, args...)
	return rows, wrap("read tasks", err)
}

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
	up := func(db *sql.DB) error {
		newer, err := migrate.Up(ctx, db, set, sub)
		s.newer = append(s.newer, newer...)
		return err
	}
	if s.pool == nil {
		return up(s.write)
	}
	return s.ChangeSchema(ctx, func(_ context.Context, pool *pgxpool.Pool) error {
		db := stdlib.OpenDBFromPool(pool)
		defer db.Close()
		return up(db)
	})
}

// Newer lists migrations of the database that a newer binary has applied and
// this one does not know. It can work with them; its operator should know.
func (s *Store) Newer() []string { return s.newer }

// Writer returns the pool that writes, for a queue that keeps its tasks in the
// same database. On SQLite it has one connection: never use it inside InTx.
func (s *Store) Writer() *sql.DB { return s.write }

// Reader returns the pool that only reads.
func (s *Store) Reader() *sql.DB { return s.read }

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, `SELECT 1`)
	return wrap("ping database", err)
}

// Close closes the database.
func (s *Store) Close() error {
	err := errors.Join(s.read.Close(), s.write.Close())
	if s.pool != nil {
		s.pool.Close()
	}
	return err
}

// tries is how often a transaction is run that collides with others.
const tries = 3

// InTx runs f in a transaction. It commits when f returns nil, and rolls back,
// returning f's error, otherwise. On PostgreSQL it calls f again, in a new
// transaction, when the first was undone because of another one that ran at the
// same time, and, as often as it takes, when a video was locked by another one.
//
// An error of the commit itself says nothing about its outcome: the connection
// may have been lost when the server had already done it. It is Unavailable,
// the functions of OnCommit do not run, and the caller has to do the same again
// or leave it. Both are safe, because repeating is: an insertion under the same
// id is refused, a finished step stays finished, a task is enqueued once.
func (s *Store) InTx(ctx context.Context, f func(*Tx) error) error {
	looks := 0 // at a video that was locked
	for try := 1; ; {
		committed, err := s.inTx(ctx, f)
		var pause time.Duration
		switch {
		case err == nil:
			for _, f := range committed { // which may begin another transaction
				f()
			}
			return nil
		case errors.Is(err, errLocked):
			looks++
			pause = lockPause(looks)
		case try < tries && collided(err):
			// The other one has been waiting for what this one has just let go, and
			// on a busy machine would be overtaken again.
			pause = time.Duration(try) * 100 * time.Millisecond
			try++
		default:
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// inTx runs f once and returns what has to run after the commit.
func (s *Store) inTx(ctx context.Context, f func(*Tx) error) ([]func(), error) {
	conn, tx, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer tx.Rollback() // does nothing after a commit
	t := &Tx{queries: queries{tx}, querier: tx, conn: conn, postgres: s.pool != nil, beat: s.beat}
	if err := f(t); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err := tx.Commit(); err != nil {
		if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil {
			return nil, ctx.Err() // database/sql was faster, and has rolled back
		}
		return nil, wrap("commit", err)
	}
	return t.committed, nil
}

// begin opens a transaction. A connection may have died in the pool without
// anybody noticing: then another one is tried, since nothing was done on it.
//
// On PostgreSQL the end of ctx ends its statements, but does not interrupt the
// commit: a handler that gives up its own video is cancelled by the very
// commit, the moment before it returns.
func (s *Store) begin(ctx context.Context) (*sql.Conn, *sql.Tx, error) {
	life := ctx
	if s.pool != nil {
		life = context.WithoutCancel(ctx)
	}
	for try := 1; ; try++ {
		conn, err := s.write.Conn(ctx)
		if err != nil {
			return nil, nil, wrap("begin", err)
		}
		tx, err := conn.BeginTx(life, nil)
		if err == nil {
			return conn, tx, nil
		}
		conn.Close()
		if try == tries || !passing(err) || errors.Is(err, context.DeadlineExceeded) {
			return nil, nil, wrap("begin", err)
		}
	}
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
