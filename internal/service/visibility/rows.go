package visibility

import (
	"context"
	"database/sql"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// setVisibility records what a video says, and where its files are going; "": they have arrived.
func setVisibility(ctx context.Context, tx *store.Tx, id video.ID, public bool, moving video.Visibility, at time.Time) error {
	var movingAt any
	if moving != "" {
		movingAt = store.Millis(at)
	}
	_, err := tx.Exec(ctx, "change visibility", `UPDATE video SET is_public = $2, moving_to = $3, moving_at = $4 WHERE id = $1`,
		id, public, store.NullText(string(moving)), movingAt)
	return err
}

// renew keeps other processes from taking a move over. It reports false if the files do not move any more, or if
// another process has worked on them after before.
func renew(ctx context.Context, q store.Queries, id video.ID, now, before time.Time) (bool, error) {
	n, err := q.Exec(ctx, "renew move", `UPDATE video SET moving_at = $2 WHERE id = $1 AND moving_to IS NOT NULL AND moving_at <= $3`,
		id, store.Millis(now), store.Millis(before))
	return n > 0, err
}

// unfinished returns the videos whose files have to move and that no process has worked on after before.
func unfinished(ctx context.Context, q store.Queries, before time.Time) ([]video.ID, error) {
	return store.Collect(ctx, q, "find unfinished moves", func(row *sql.Rows) (id video.ID, err error) {
		err = row.Scan(&id)
		return id, err
	}, `SELECT id FROM video WHERE moving_to IS NOT NULL AND moving_at <= $1 ORDER BY moving_at LIMIT 100`, store.Millis(before))
}
