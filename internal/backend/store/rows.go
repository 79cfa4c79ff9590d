package store

import (
	"context"
	"database/sql"
	"time"
)

// Collect runs a query and returns its rows, each as scan reads it. op describes
// the query in errors.
func Collect[T any](ctx context.Context, q Queries, op string, scan func(*sql.Rows) (T, error), text string, args ...any) ([]T, error) {
	rows, err := q.db.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, Wrap(op, err)
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, Wrap(op, err)
		}
		all = append(all, one)
	}
	return all, Wrap(op, rows.Err())
}

// NullText converts a text for a column in which NULL means none.
func NullText(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Millis converts a time for the database; the zero time is NULL.
func Millis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// FromMillis converts a time of the database.
func FromMillis(ms sql.NullInt64) time.Time {
	if !ms.Valid {
		return time.Time{}
	}
	return time.UnixMilli(ms.Int64).UTC()
}
