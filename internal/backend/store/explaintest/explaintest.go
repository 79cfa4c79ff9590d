// Package explaintest finds statements that read a whole table.
package explaintest

import (
	"context"
	"database/sql"
	"strings"
	"testing"
)

// Querier is a transaction or a database of SQLite.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Spy asks the engine how it will run each statement before it runs it, and collects those that read a whole table or
// sort it for the first few rows.
type Spy struct {
	Querier
	T     testing.TB
	Scans *[]string
}

// small are scans of a few rows of a statement itself.
var small = []string{"SCAN entry", "SCAN lane", "SCAN CONSTANT ROW", "SCAN chosen"}

func (s Spy) examine(ctx context.Context, query string, args []any) {
	s.T.Helper()
	rows, err := s.Querier.QueryContext(ctx, "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		s.T.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			s.T.Fatal(err)
		}
		sorts := strings.Contains(detail, "TEMP B-TREE") && strings.Contains(query, "LIMIT") // reads all for the first few
		if readsTable(detail) || sorts {
			*s.Scans = append(*s.Scans, detail+" for "+strings.Join(strings.Fields(query), " "))
		}
	}
}

// readsTable reports whether a line of a plan is a scan of a table, and not of a list of ids or of a few rows.
func readsTable(detail string) bool {
	for _, few := range small {
		if detail == few {
			return false
		}
	}
	return strings.HasPrefix(detail, "SCAN ") && !strings.Contains(detail, " VIRTUAL TABLE ")
}

// ExecContext examines a statement and runs it.
func (s Spy) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	s.examine(ctx, query, args)
	return s.Querier.ExecContext(ctx, query, args...)
}

// QueryContext examines a query and runs it.
func (s Spy) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s.examine(ctx, query, args)
	return s.Querier.QueryContext(ctx, query, args...)
}

// QueryRowContext examines a query and runs it.
func (s Spy) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	s.examine(ctx, query, args)
	return s.Querier.QueryRowContext(ctx, query, args...)
}
