package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// pgStarting is the code of a server that is starting or stopping.
const pgStarting = "57P03"

// reasons tell an operator what to do about an error code of PostgreSQL.
var reasons = map[string]string{
	"28P01":    "the user or the password in database_url is wrong",
	"28000":    "the server does not let this user in",
	"3D000":    "there is no such database: create it, as docs/database.md shows",
	"42501":    "its user may not create or read tables in it: make it the owner of the database, or give a worker's user the rights that docs/database.md lists and start an API process of this version first",
	"53300":    "all connections of the server are taken: raise its max_connections, or lower pool_max_conns in database_url",
	pgReadOnly: "the server only reads, as a standby does: name the primary, or several hosts and target_session_attrs=read-write",
	pgStarting: "the server is starting or stopping",
}

// unusable is a database that cannot be opened. Its text is one line for the
// operator. The driver's text has a line for each way it tried, so that a refused
// TLS hides the wrong password.
type unusable struct {
	text string
	err  error
}

func (u *unusable) Error() string { return u.text }
func (u *unusable) Unwrap() error { return u.err }

// diagnose turns an error of opening a database into a message for the operator.
func diagnose(c *pgx.ConnConfig, err error) error {
	at := c.Host
	if !strings.HasPrefix(at, "/") { // a folder with a socket
		at = net.JoinHostPort(at, fmt.Sprint(c.Port))
	}
	return &unusable{fmt.Sprintf("database %q at %s: %s", c.Database, at, reason(err)), err}
}

// reason says in one line why a database cannot be opened.
func reason(err error) string {
	lines := strings.Split(err.Error(), "\n")
	last := strings.TrimSpace(lines[len(lines)-1]) // what the driver tried last
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		if known, ok := reasons[e.Code]; ok {
			return known + ": " + e.Message
		}
		return last
	}
	_, noHost := errors.AsType[*net.DNSError](err)
	switch {
	case noHost:
		return "its host cannot be found: " + last
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there: is the server running, and is the port right?"
	case errors.Is(err, context.DeadlineExceeded):
		return "the server does not answer: is the address right, and does a firewall let us through?"
	case strings.Contains(last, "refused TLS"):
		return "the server does not speak TLS, which the sslmode in database_url asks for"
	}
	return last
}

// MayAnswerSoon reports whether a database that could not be opened may just be
// starting.
func MayAnswerSoon(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, syscall.ECONNREFUSED) || pgCode(err) == pgStarting
}
