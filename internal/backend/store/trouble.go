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

// Codes of PostgreSQL that mean something to us. The first two characters are a
// class; see its manual, appendix A.
const (
	pgDiskFull      = "53100"
	pgSerialization = "40001"
	pgDeadlock      = "40P01"
	pgLockTimeout   = "55P03"
	pgReadOnly      = "25006" // a standby, after the other machine has taken over
	pgSilent        = "25P03" // a transaction of a process that stood still
)

// pgPassing are the classes of trouble that passes: the connection, the
// resources, an operator's intervention, the system, a collision.
var pgPassing = []string{"08", "53", "57", "58", "40"}

// wrap says what was being done, and tells trouble that passes from a mistake
// of ours: the first is worth another try.
func wrap(op string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	err = fmt.Errorf("%s: %w", op, err)
	switch {
	case full(err):
		return &video.Error{Kind: video.InsufficientStorage, Code: "insufficient_storage", Msg: "The server has no room left.", RetryAfter: time.Minute, Err: err}
	case passing(err):
		return &video.Error{Kind: video.Unavailable, Code: "database_unavailable", Msg: "The database does not answer. Try again shortly.", RetryAfter: 2 * time.Second, Err: err}
	}
	return err
}

// full reports whether the database has no room left.
func full(err error) bool {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()&0xff == sqlite3.SQLITE_FULL
	}
	return pgCode(err) == pgDiskFull
}

// passing reports whether the same may work in a moment.
func passing(err error) bool {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
			return true
		}
		return false
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if code := pgCode(err); code != "" {
		return slices.Contains(pgPassing, code[:2]) || code == pgLockTimeout || code == pgReadOnly || code == pgSilent
	}
	return disconnected(err)
}

// disconnected reports whether a connection was lost or did not answer in time.
func disconnected(err error) bool {
	if _, ok := errors.AsType[net.Error](err); ok { // time-outs are among them
		return true
	}
	return pgconn.SafeToRetry(err) || errors.Is(err, driver.ErrBadConn) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// pgCode returns the code of an error that PostgreSQL sent, else "".
func pgCode(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && len(e.Code) == 5 {
		return e.Code
	}
	return ""
}

// collided reports whether a transaction failed only because of another one that
// ran at the same time: it has been undone and can be run again at once.
func collided(err error) bool {
	code := pgCode(err)
	return code == pgSerialization || code == pgDeadlock
}
