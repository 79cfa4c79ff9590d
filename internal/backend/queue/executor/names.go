package executor

import (
	"context"
	"fmt"

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
