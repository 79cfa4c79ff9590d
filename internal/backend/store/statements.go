package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
)

// A connection keeps at most maxStatements statements, each of at most maxStatement bytes. The program has
// fewer, except for lists whose conditions clients choose and for insertions of several rows. Only a restore has
// longer ones.
const (
	maxStatements = 200
	maxStatement  = 4 << 10
)

// keeper opens connections to SQLite that keep their statements: it takes longer to parse a short one
// than to run it. PostgreSQL's driver does this itself.
type keeper struct{ driver.Connector }

// Connect implements driver.Connector.
func (k keeper) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := k.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	all, ok := conn.(sqliteConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the driver of SQLite lacks methods that are needed: %T", conn), conn.Close())
	}
	return &keepingConn{sqliteConn: all, kept: map[string]*keptStatement{}}, nil
}

// sqliteConn is everything that database/sql may ask of a connection to SQLite. Without one of these
// methods it would take a slower way, or leave something out.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.Pinger
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

// keepingConn is a connection with the statements that it has run. database/sql calls it from one
// goroutine at a time, and so it does with the rows that are read from it.
type keepingConn struct {
	sqliteConn
	kept map[string]*keptStatement
}

type keptStatement struct {
	sqliteStmt
	reading bool // of its rows: running it would end them
}

// sqliteStmt is what is asked of a statement.
type sqliteStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// ExecContext implements driver.ExecerContext with a kept statement.
func (c *keepingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if s := c.statement(ctx, query); s != nil {
		return s.ExecContext(ctx, args)
	}
	return c.sqliteConn.ExecContext(ctx, query, args)
}

// QueryContext implements driver.QueryerContext with a kept statement.
func (c *keepingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s := c.statement(ctx, query)
	if s == nil {
		return c.sqliteConn.QueryContext(ctx, query, args)
	}
	rows, err := s.QueryContext(ctx, args)
	if err != nil {
		return nil, err
	}
	s.reading = true
	return keptRows{rows, s}, nil
}

// keptRows are the rows of a kept statement.
type keptRows struct {
	driver.Rows
	statement *keptStatement
}

func (r keptRows) Close() error {
	r.statement.reading = false
	return r.Rows.Close()
}

// statement returns the kept statement of a query. If it returns nil, the caller runs the query itself, which
// also returns the error of a query that is wrong.
func (c *keepingConn) statement(ctx context.Context, query string) *keptStatement {
	if s := c.kept[query]; s != nil {
		if s.reading {
			return nil
		}
		return s
	}
	if !worthKeeping(query) {
		return nil
	}
	prepared, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil
	}
	all, ok := prepared.(sqliteStmt)
	if !ok {
		_ = prepared.Close() // it was not used
		return nil
	}
	if len(c.kept) >= maxStatements {
		_ = c.forget() // they have nothing left to do
	}
	s := &keptStatement{sqliteStmt: all}
	c.kept[query] = s
	return s
}

// worthKeeping reports whether a query can be run again as it is. Pragmas may take effect when
// they are parsed, changes of the schema run once, and migrations are many statements in one text.
func worthKeeping(query string) bool {
	words := strings.Fields(query[:min(len(query), 40)])
	if len(words) == 0 || len(query) > maxStatement || strings.Contains(query, ";") {
		return false
	}
	switch words[0] {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "WITH":
		return true
	}
	return false
}

// forget closes the kept statements whose rows are not being read.
func (c *keepingConn) forget() error {
	var all error
	for query, s := range c.kept {
		if !s.reading {
			all = errors.Join(all, s.Close())
			delete(c.kept, query)
		}
	}
	return all
}

// Close implements driver.Conn.
func (c *keepingConn) Close() error {
	return errors.Join(c.forget(), c.sqliteConn.Close())
}
