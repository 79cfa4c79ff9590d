package cdn

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// purge is something that a CDN must forget.
type purge struct {
	id        string
	video     video.ID
	reason    Reason
	files     []string // names of files of the video
	tries     int      // that failed
	createdAt time.Time
}

func insertPurge(ctx context.Context, tx *store.Tx, p purge) error {
	files, err := json.Marshal(p.files)
	if err != nil {
		return fmt.Errorf("write the files of a purge: %w", err)
	}
	_, err = tx.ExecContext(ctx, `
		INSERT INTO cdn_purge (id, video_id, reason, files, created_at) VALUES ($1, $2, $3, $4, $5)`,
		p.id, p.video, p.reason, string(files), p.createdAt.UnixMilli())
	return err
}

// findPurge returns a purge; false: it is done.
func findPurge(ctx context.Context, tx *store.Tx, id string) (p purge, found bool, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT id, video_id, reason, files, tries, created_at FROM cdn_purge WHERE id = $1`, id)
	if err != nil {
		return p, false, err
	}
	defer rows.Close()
	for rows.Next() {
		var files string
		var created int64
		if err := rows.Scan(&p.id, &p.video, &p.reason, &files, &p.tries, &created); err != nil {
			return p, false, err
		}
		p.createdAt, found = time.UnixMilli(created), true
		if err := json.Unmarshal([]byte(files), &p.files); err != nil {
			return p, false, fmt.Errorf("files of purge %s: %w", id, err)
		}
	}
	return p, found, rows.Err()
}

func countTry(ctx context.Context, tx *store.Tx, id string) error {
	_, err := tx.ExecContext(ctx, `UPDATE cdn_purge SET tries = tries + 1 WHERE id = $1`, id)
	return err
}

func removePurge(ctx context.Context, tx *store.Tx, id string) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM cdn_purge WHERE id = $1`, id)
	return err
}
