package attempts

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
)

// Names returns the names of a video's tasks. query selects the kind, the number and the id of each.
func Names(ctx context.Context, tx queue.Tx, id video.ID, query string, args ...any) ([]queue.Name, error) {
	names, err := Collect(ctx, tx, func(rows *sql.Rows) (n queue.Name, err error) {
		n.Video = id
		err = rows.Scan(&n.Kind, &n.Number, &n.ID)
		return n, err
	}, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list the tasks of video %s: %w", id, err)
	}
	return names, nil
}

// Collect runs a query and returns its rows, each as scan reads it.
func Collect[T any](ctx context.Context, r queue.Reader, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := r.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		item, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, rows.Err()
}

// Stats counts tasks. query selects, for each kind, how many wait, how many run, and for how many seconds
// the oldest due task has waited.
func Stats(ctx context.Context, r queue.Reader, query string, args ...any) (map[queue.Kind]queue.Stat, error) {
	type row struct {
		kind queue.Kind
		queue.Stat
	}
	all, err := Collect(ctx, r, func(rows *sql.Rows) (s row, err error) {
		var oldest float64
		err = rows.Scan(&s.kind, &s.Waiting, &s.Running, &oldest)
		s.Oldest = time.Duration(max(0, oldest) * float64(time.Second))
		return s, err
	}, query, args...)
	if err != nil {
		return nil, fmt.Errorf("count tasks: %w", err)
	}
	stats := map[queue.Kind]queue.Stat{}
	for _, s := range all {
		stats[s.kind] = s.Stat
	}
	return stats, nil
}

// All yields the tasks that a query selects: kind, video, number, id, tenant, endpoint and priority.
func All(ctx context.Context, r queue.Reader, query string, args ...any) iter.Seq2[queue.Task, error] {
	return func(yield func(queue.Task, error) bool) {
		rows, err := r.QueryContext(ctx, query, args...)
		if err != nil {
			yield(queue.Task{}, fmt.Errorf("list all tasks: %w", err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			var t queue.Task
			if err := rows.Scan(&t.Kind, &t.Video, &t.Number, &t.ID, &t.Tenant, &t.Endpoint, &t.Priority); err != nil {
				yield(queue.Task{}, fmt.Errorf("list all tasks: %w", err))
				return
			}
			if !yield(t, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(queue.Task{}, fmt.Errorf("list all tasks: %w", err))
		}
	}
}
