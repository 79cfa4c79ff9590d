package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// ExpiredVideos lists videos that expire at a time or before, the first to expire first.
func (s *Store) ExpiredVideos(ctx context.Context, at time.Time, limit int) ([]video.ID, error) {
	return s.queryIDs(ctx, `
		SELECT id FROM video WHERE expires_at <= $1 AND deleted_at IS NULL ORDER BY expires_at LIMIT $2`, Millis(at), limit)
}

// untold selects the videos that expire at $1 or before and whose webhooks were not told.
const untold = `expires_at <= $1 AND deleted_at IS NULL AND NOT expiry_told`

// TellExpiring tells the webhooks of videos that expire at a time or before, each once, and returns how many there
// were. Of two processes that do it at once, PostgreSQL lets one wait for the rows of the other and evaluates the
// condition again.
func (t *Tx) TellExpiring(ctx context.Context, at time.Time, limit int) (int, error) {
	return t.tellExpiring(ctx, `
		UPDATE video SET expiry_told = TRUE
		 WHERE `+untold+` AND id IN (SELECT id FROM video WHERE `+untold+` ORDER BY expires_at LIMIT $2)
		RETURNING id`, Millis(at), limit)
}

// TellExpiringVideo is TellExpiring for one video.
func (t *Tx) TellExpiringVideo(ctx context.Context, id video.ID, at time.Time) error {
	_, err := t.tellExpiring(ctx, `UPDATE video SET expiry_told = TRUE WHERE `+untold+` AND id = $2 RETURNING id`, Millis(at), id)
	return err
}

func (t *Tx) tellExpiring(ctx context.Context, text string, args ...any) (int, error) {
	ids, err := Collect(ctx, t.Queries, "tell of expiring videos", func(row *sql.Rows) (id video.ID, err error) {
		return id, row.Scan(&id)
	}, text, args...)
	for _, id := range ids {
		t.emit(video.EventExpiring, id)
	}
	return len(ids), err
}
