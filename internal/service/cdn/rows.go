package cdn

import (
	"context"
	"database/sql"
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
	folder    video.Folder // where the files lie
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
	_, err = tx.Exec(ctx, "record purge", `
		INSERT INTO cdn_purge (id, video_id, objects_in, reason, files, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
		p.id, p.video, p.folder, p.reason, string(files), store.Millis(p.createdAt))
	return err
}

// findPurge returns a purge; false: it is done.
func findPurge(ctx context.Context, tx *store.Tx, id string) (p purge, found bool, err error) {
	all, err := store.Collect(ctx, tx.Queries, "read purge", scanPurge, `SELECT id, video_id, COALESCE(objects_in, video_id), reason, files, tries, created_at FROM cdn_purge WHERE id = $1`, id)
	if err != nil || len(all) == 0 {
		return p, false, err
	}
	return all[0], true, nil
}

func scanPurge(row *sql.Rows) (p purge, err error) {
	var files string
	var created sql.NullInt64
	if err := row.Scan(&p.id, &p.video, &p.folder, &p.reason, &files, &p.tries, &created); err != nil {
		return p, err
	}
	p.createdAt = store.FromMillis(created)
	if err := json.Unmarshal([]byte(files), &p.files); err != nil {
		return p, fmt.Errorf("files of purge %s: %w", p.id, err)
	}
	return p, nil
}

func countTry(ctx context.Context, tx *store.Tx, id string) error {
	_, err := tx.Exec(ctx, "count try of purge", `UPDATE cdn_purge SET tries = tries + 1 WHERE id = $1`, id)
	return err
}

func removePurge(ctx context.Context, tx *store.Tx, id string) error {
	_, err := tx.Exec(ctx, "remove purge", `DELETE FROM cdn_purge WHERE id = $1`, id)
	return err
}
