package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"strconv"
	"time"
)

// Collect runs a query and returns its rows, each as scan reads it. op describes
// the query in errors.
func Collect[T any](ctx context.Context, q Queries, op string, scan func(*sql.Rows) (T, error), text string, args ...any) ([]T, error) {
	var all []T
	err := Each(ctx, q, op, func(row *sql.Rows) (bool, error) {
		one, err := scan(row)
		all = append(all, one)
		return true, err
	}, text, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Each runs a query and calls read with one row after the other, as long as that wants more.
func Each(ctx context.Context, q Queries, op string, read func(*sql.Rows) (more bool, err error), text string, args ...any) error {
	rows, err := q.db.QueryContext(ctx, text, args...)
	if err != nil {
		return Wrap(op, err)
	}
	defer rows.Close()
	for more := true; more && rows.Next(); {
		if more, err = read(rows); err != nil {
			return Wrap(op, err)
		}
	}
	return Wrap(op, rows.Err())
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

// IDList writes a list of ids as a subquery with one argument, $n: there may be
// thousands of ids, and a statement is planned anew for each number of arguments.
// The ids are the keys of a JSON object, because json_each of an array differs
// between the databases. A single id, the most frequent case, is passed directly,
// which takes half the time.
func IDList[ID ~string](n int, ids []ID) (in, arg string) {
	mark := "$" + strconv.Itoa(n)
	if len(ids) == 1 {
		return "(" + mark + ")", string(ids[0])
	}
	names := make(map[ID]int, len(ids))
	for _, id := range ids {
		names[id] = 0
	}
	text, _ := json.Marshal(names) // strings and numbers: it cannot fail
	return "(SELECT key FROM json_each(" + mark + "))", string(text)
}
