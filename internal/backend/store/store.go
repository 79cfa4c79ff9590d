// Package store keeps videos, keys and the state of their processing in a SQL
// database: SQLite for one process, PostgreSQL for many machines. The same SQL text
// serves both: placeholders are numbered by first appearance, times are
// milliseconds, ids and JSON are text. storetest is the contract that both pass.
//
// The store checks that a status change is legal, in the WHERE of its UPDATE
// statements. The packages in service decide what a change means.
//
// # Transactions
//
// Every write happens in a transaction (InTx), together with the tasks that it
// makes necessary: the queue keeps its tasks in the same database. A row without
// its task, or a task without its row, cannot exist after a crash. Progress is the
// only exception, because losing it costs nothing.
//
// SQLite has one writer at a time, so transactions there cannot conflict.
// PostgreSQL has many. Transactions that decide something about a video lock it
// first (Tx.Lock), and others wait outside the database, without occupying a
// connection. A transaction that waits for something slow, such as a copy in the
// storage, is kept alive (Tx.KeepAliveWhile); if its connection is lost, so is its
// lock, and the slow work is cancelled.
//
// # Errors
//
// A transient error is a video.Error of kind Unavailable, so that clients and tasks
// try again. If a commit fails, its outcome is unknown; see InTx.
//
// # Schema
//
// Migrations only add, so that old and new processes work side by side during an
// upgrade; see package migrate. The comments in the files say what each table holds.
package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"

	"github.com/spool-video/spool/internal/backend/diskspace"
	"github.com/spool-video/spool/internal/backend/store/migrate"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Store is an open database. Every write except SetProgress happens in a
// transaction that InTx opens.
type Store struct {
	Queries
	file  string // of SQLite
	write *sql.DB
	read  *sql.DB
	pool  *pgxpool.Pool // of PostgreSQL, under write and read; nil on SQLite
	newer []string      // migrations that this binary does not know

	timeouts  timeouts
	keepAlive time.Duration // interval of Tx.KeepAliveWhile; 0: not needed

	now      func() time.Time                                     // of events; nil: this machine's
	onEvents func(context.Context, *Tx, []Event, time.Time) error // nil: nothing records them
}

// Tx is a transaction. It implements queue.Tx.
type Tx struct {
	Queries
	querier
	conn      *sql.Conn
	postgres  bool
	keepAlive time.Duration
	now       func() time.Time // nil: the time of this machine
	committed []func()
	emitted   []Event // recorded when the transaction ends
}

// OnCommit registers f to run after a successful commit, and never otherwise.
func (t *Tx) OnCommit(f func()) { t.committed = append(t.committed, f) }

// ExecContext is for the queue, which has its own statements.
func (t *Tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	res, err := t.querier.ExecContext(ctx, query, args...)
	return res, Wrap("change tasks", err)
}

// QueryContext is for the queue, too.
func (t *Tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := t.querier.QueryContext(ctx, query, args...)
	return rows, Wrap("read tasks", err)
}

// Queries run statements: Tx.Queries inside a transaction, Store.Queries outside of one, where they only read. Rooms
// keep the statements of their own tables beside their rules and run them with Exec, QueryRow and Collect.
type Queries struct{ db querier }

// QueriesOn returns what runs statements on db.
func QueriesOn(db querier) Queries { return Queries{db} }

type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// OpenSQLite opens the database file at path, and creates it if necessary.
//
// SQLite has one writer at a time, so the writing pool has one connection, and every
// transaction starts as a writer: two can never deadlock by upgrading. Commits are
// synced to the disk: what a client was told survives a power cut.
func OpenSQLite(ctx context.Context, path string) (*Store, error) {
	return openSQLiteWith(ctx, path, migrations)
}

// busyTimeout is how long SQLite waits for another process, such as one that copies the file.
const busyTimeout = 10 * time.Second

var busyPragma = fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())

// openSQLiteWith applies these migrations; nil: none.
func openSQLiteWith(ctx context.Context, path string, files fs.FS) (*Store, error) {
	write, err := openSQLite(path, url.Values{
		"_txlock": {"immediate"},
		"_pragma": {busyPragma, "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)"},
	})
	if err != nil {
		return nil, err
	}
	write.SetMaxOpenConns(1)
	read, err := openReaders(path, 8)
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	s := &Store{Queries: Queries{read}, file: path, write: write, read: read}
	if err := s.check(ctx, files); err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", path, err), s.Close())
	}
	return s, nil
}

// openReaders opens n connections that cannot write.
func openReaders(path string, n int) (*sql.DB, error) {
	db, err := openSQLite(path, url.Values{"_pragma": {busyPragma, "query_only(1)"}})
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

func openSQLite(path string, options url.Values) (*sql.DB, error) {
	name := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: options.Encode()}
	connector, err := sqlite.NewConnector(name.String())
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(keeper{connector}), nil
}

// check reads back the settings that correctness depends on, because a driver may
// silently ignore an unknown option, and brings the schema up to date.
func (s *Store) check(ctx context.Context, files fs.FS) error {
	var mode string
	var keys, sync int
	if err := s.connect(ctx); err != nil {
		return err
	}
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
		return fmt.Errorf("SQLite ignored settings: journal_mode=%s foreign_keys=%d synchronous=%d", mode, keys, sync)
	}
	return s.migrateStore(ctx, files)
}

// connect makes the connection that writes. Where several processes open a new file at the same moment, SQLite
// refuses the change to write-ahead logging to some of them without waiting for the others.
func (s *Store) connect(ctx context.Context) error {
	for began := time.Now(); ; {
		err := s.write.PingContext(ctx)
		if !isBusy(err) || time.Since(began) >= busyTimeout {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// migrateStore applies the migrations of this package; nil: none.
func (s *Store) migrateStore(ctx context.Context, files fs.FS) error {
	if files == nil {
		return nil
	}
	return s.Migrate(ctx, "store", files)
}

// Migrate applies the migrations of another set in this database, such as the
// queue's.
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
	if yes, newer, err := migrate.UpToDate(ctx, s.write, set, sub); err != nil || yes {
		s.newer = append(s.newer, newer...)
		return err
	}
	return s.ChangeSchema(ctx, func(_ context.Context, pool *pgxpool.Pool) error {
		db := stdlib.OpenDBFromPool(pool)
		defer db.Close()
		return up(db)
	})
}

// Newer lists migrations that a newer binary has applied and this one does not
// know. This one can work with them, but the operator should be told.
func (s *Store) Newer() []string { return s.newer }

// SingleWriter reports whether only one transaction at a time can write. What takes
// long should then happen outside of transactions.
func (s *Store) SingleWriter() bool { return s.pool == nil }

// Writer returns the pool that writes, for a queue that keeps its tasks in the
// same database. On SQLite it has one connection: never use it inside InTx.
func (s *Store) Writer() *sql.DB { return s.write }

// Reader returns the pool that only reads.
func (s *Store) Reader() *sql.DB { return s.read }

// Ping reports whether the database answers and can be changed. It changes nothing: SQLite could write if its
// folder can be written, and PostgreSQL knows whether it would refuse.
func (s *Store) Ping(ctx context.Context) error {
	if s.pool != nil {
		return s.pingPostgres(ctx)
	}
	if _, err := s.db.ExecContext(ctx, `SELECT 1`); err != nil {
		return Wrap("ping database", err)
	}
	if err := diskspace.CheckWritable(filepath.Dir(s.file)); err != nil {
		return readOnly(fmt.Errorf("ping database: %w", err))
	}
	return nil
}

// pingPostgres changes no row, and is refused as any change is on a standby, or if transactions are read-only
// by default. The connection is then not used again (see canWrite). Others may lead to the same server, although
// new ones lead to another, so it tries several.
func (s *Store) pingPostgres(ctx context.Context) (err error) {
	const ping = `UPDATE step SET progress = progress WHERE false`

	for range 8 {
		_, err = s.db.ExecContext(ctx, ping)
		if !isReadOnly(err) {
			break
		}
	}
	return Wrap("ping database", err)
}

// Close closes the database.
func (s *Store) Close() error {
	err := errors.Join(s.read.Close(), s.write.Close())
	if s.pool != nil {
		s.pool.Close()
	}
	return err
}

// maxTries is how often a transaction is run that conflicts with others.
const maxTries = 3

// InTx runs f in a transaction. It commits if f returns nil; otherwise it rolls back
// and returns f's error. On PostgreSQL it calls f again, in a new transaction, if
// the first was rolled back because of a concurrent one, and, as often as
// necessary, if another one has locked the video.
//
// An error of the commit itself says nothing about its outcome: the connection may
// have been lost after the server had committed. The error is Unavailable, the
// functions of OnCommit do not run, and the caller may repeat the transaction or
// leave it. Repeating is safe: an insertion under the same id is refused, a
// finished step stays finished, a task is enqueued once.
func (s *Store) InTx(ctx context.Context, f func(*Tx) error) error {
	lockTries := 0
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
			lockTries++
			pause = lockPause(lockTries)
		case try < maxTries && isConflict(err):
			// The other transaction waits for what this one has just released. On a
			// busy machine this one would overtake it again.
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

// inTx runs f once and returns the functions to run after the commit.
func (s *Store) inTx(ctx context.Context, f func(*Tx) error) ([]func(), error) {
	conn, tx, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer tx.Rollback() // does nothing after a commit
	t := &Tx{Queries: Queries{tx}, querier: tx, conn: conn, postgres: s.pool != nil, keepAlive: s.keepAlive, now: s.eventTime}
	if err := f(t); err != nil {
		return nil, err
	}
	if err := s.recordEvents(ctx, t); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err := tx.Commit(); err != nil {
		if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil {
			return nil, ctx.Err() // database/sql has noticed first, and has rolled back
		}
		return nil, Wrap("commit", err)
	}
	return t.committed, nil
}

// begin opens a transaction. If a connection has died unnoticed in the pool, it tries another one.
//
// On PostgreSQL the transaction gets a detached context: the end of ctx ends its
// statements but does not interrupt the commit. A handler that gives up its own
// video is cancelled by that very commit, a moment before it returns.
func (s *Store) begin(ctx context.Context) (*sql.Conn, *sql.Tx, error) {
	txCtx := ctx
	if s.pool != nil {
		txCtx = context.WithoutCancel(ctx)
	}
	for try := 1; ; try++ {
		conn, err := s.write.Conn(ctx)
		if err != nil {
			return nil, nil, Wrap("begin", err)
		}
		tx, err := conn.BeginTx(txCtx, nil)
		if err == nil {
			return conn, tx, nil
		}
		conn.Close()
		if try == maxTries || !isTransient(err) || errors.Is(err, context.DeadlineExceeded) {
			return nil, nil, Wrap("begin", err)
		}
	}
}

// Exec runs a statement and returns how many rows it changed. op says in errors what it was for.
func (q Queries) Exec(ctx context.Context, op, query string, args ...any) (int64, error) {
	res, err := q.db.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, Wrap(op, err)
	}
	n, err := res.RowsAffected()
	return n, Wrap(op, err)
}

// QueryRow runs a query that returns one row. Errors of its Scan go through Wrap.
func (q Queries) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	return q.db.QueryRowContext(ctx, query, args...)
}
