package store

import (
	"context"
	"database/sql"
	"time"
)

// collect runs a query and returns its rows, each as scan reads it. op describes
// the query in errors.
func collect[T any](ctx context.Context, q queries, op string, scan func(*sql.Rows) (T, error), text string, args ...any) ([]T, error) {
	rows, err := q.db.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, wrap(op, err)
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, wrap(op, err)
		}
		all = append(all, one)
	}
	return all, wrap(op, rows.Err())
}

// textOrNull converts a text for a column in which NULL means none.
func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// millis converts a time for the database; the zero time is NULL.
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
