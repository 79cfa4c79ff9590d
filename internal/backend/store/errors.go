package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/spool-video/spool/internal/video"
)

// Error codes of PostgreSQL. The first two characters are a class; see appendix A
// of its manual.
const (
	pgDiskFull      = "53100"
	pgSerialization = "40001"
	pgDeadlock      = "40P01"
	pgLockTimeout   = "55P03"
	pgReadOnly      = "25006" // a standby, after a failover
	pgIdleTimeout   = "25P03" // a transaction was idle for too long
)

// pgTransient are the classes of transient errors: connection, resources,
// intervention by an operator, system, rolled back because of a conflict.
var pgTransient = []string{"08", "53", "57", "58", "40"}

// Wrap adds what was being done, and classifies the error: a transient one is worth
// another try, any other is a mistake of ours.
func Wrap(op string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if _, ok := errors.AsType[*video.Error](err); ok {
		return err // it is classified already
	}
	err = fmt.Errorf("%s: %w", op, err)
	switch {
	case isFull(err):
		return &video.Error{Kind: video.InsufficientStorage, Code: "insufficient_storage", Msg: "The server has no disk space left.", RetryAfter: time.Minute, Err: err}
	case isReadOnly(err):
		return readOnly(err)
	case isTransient(err):
		return &video.Error{Kind: video.Unavailable, Code: "database_unavailable", Msg: "The database does not answer. Try again shortly.", RetryAfter: 2 * time.Second, Err: err}
	}
	return err
}

// isReadOnly reports whether the database refuses every change.
func isReadOnly(err error) bool {
	return sqliteCode(err) == sqlite3.SQLITE_READONLY || pgCode(err) == pgReadOnly
}

// readOnly is the error of a database that can only be read.
func readOnly(err error) error {
	return &video.Error{Kind: video.Unavailable, Code: "database_unavailable", Msg: "The database can only be read at present. Try again shortly.", RetryAfter: 2 * time.Second, Err: err}
}

// isBusy reports whether another process keeps SQLite from a change.
func isBusy(err error) bool { return sqliteCode(err) == sqlite3.SQLITE_BUSY }

// isFull reports whether the database has no disk space left.
func isFull(err error) bool {
	return sqliteCode(err) == sqlite3.SQLITE_FULL || pgCode(err) == pgDiskFull
}

// isTransient reports whether the same statement may succeed in a moment.
func isTransient(err error) bool {
	switch sqliteCode(err) {
	case sqlite3.SQLITE_OK: // of PostgreSQL, or of the connection
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
		return true
	default:
		return false
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if code := pgCode(err); code != "" {
		return slices.Contains(pgTransient, code[:2]) || code == pgLockTimeout || code == pgReadOnly || code == pgIdleTimeout
	}
	return isDisconnected(err)
}

// isDisconnected reports whether a connection was lost or timed out.
func isDisconnected(err error) bool {
	if _, ok := errors.AsType[net.Error](err); ok { // includes timeouts
		return true
	}
	return pgconn.SafeToRetry(err) || errors.Is(err, driver.ErrBadConn) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// sqliteCode returns the primary code of an error of SQLite, or SQLITE_OK.
func sqliteCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return sqlite3.SQLITE_OK
}

// pgCode returns the code of an error that PostgreSQL sent, or "".
func pgCode(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && len(e.Code) == 5 {
		return e.Code
	}
	return ""
}

// isConflict reports whether a transaction was rolled back only because of a
// concurrent one. It can be run again.
func isConflict(err error) bool {
	code := pgCode(err)
	return code == pgSerialization || code == pgDeadlock
}
