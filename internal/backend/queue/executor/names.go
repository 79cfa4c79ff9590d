package executor

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
)

// Names returns the names of a video's tasks. query selects the kind and the number
// of each.
func Names(ctx context.Context, tx queue.Tx, id video.ID, query string, args ...any) ([]queue.Name, error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list the tasks of video %s: %w", id, err)
	}
	defer rows.Close()
	var names []queue.Name
	for rows.Next() {
		n := queue.Name{Video: id}
		if err := rows.Scan(&n.Kind, &n.Number); err != nil {
			return nil, fmt.Errorf("list the tasks of video %s: %w", id, err)
		}
		names = append(names, n)
	}
	return names, rows.Err()
}

// All yields the tasks that a query selects: kind, video, number, tenant, priority and the time in
// milliseconds.
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
			var runAt int64
			if err := rows.Scan(&t.Kind, &t.Video, &t.Number, &t.Tenant, &t.Priority, &runAt); err != nil {
				yield(queue.Task{}, fmt.Errorf("list all tasks: %w", err))
				return
			}
			if runAt > 0 {
				t.RunAt = time.UnixMilli(runAt)
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
