package share

import (
	"context"
	"database/sql"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

const columns = `id, video_id, secret, label, password, download, created_at, expires_at`

const selectShare = `SELECT ` + columns + `, (SELECT tenant FROM video WHERE video.id = share.video_id) FROM share `

func scan(row *sql.Rows) (s Share, err error) {
	var created, expires sql.NullInt64
	err = row.Scan(&s.ID, &s.Video, &s.Secret, &s.Label, &s.password, &s.Download, &created, &expires, &s.Tenant)
	s.CreatedAt, s.ExpiresAt = store.FromMillis(created), store.FromMillis(expires)
	return s, err
}

func insertRow(ctx context.Context, tx *store.Tx, s Share) error {
	_, err := tx.Exec(ctx, "insert share", `INSERT INTO share (`+columns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		s.ID, s.Video, s.Secret, s.Label, s.password, s.Download, store.Millis(s.CreatedAt), store.Millis(s.ExpiresAt))
	return err
}

func countRows(ctx context.Context, tx *store.Tx, id video.ID) (n int, err error) {
	err = tx.QueryRow(ctx, `SELECT count(*) FROM share WHERE video_id = $1`, id).Scan(&n)
	return n, store.Wrap("count shares", err)
}

func deleteExpired(ctx context.Context, tx *store.Tx, id video.ID, now time.Time) (int64, error) {
	return tx.Exec(ctx, "delete expired shares", `DELETE FROM share WHERE video_id = $1 AND expires_at <= $2`, id, store.Millis(now))
}

func deleteRow(ctx context.Context, tx *store.Tx, id video.ID, share ID) (int64, error) {
	return tx.Exec(ctx, "delete share", `DELETE FROM share WHERE video_id = $1 AND id = $2`, id, share)
}

func sharesOf(ctx context.Context, q store.Queries, id video.ID) ([]Share, error) {
	return store.Collect(ctx, q, "list shares", scan, selectShare+`WHERE video_id = $1 ORDER BY created_at DESC, id DESC`, id)
}

func findRow(ctx context.Context, q store.Queries, secret string) (Share, error) {
	all, err := store.Collect(ctx, q, "find share", scan, selectShare+`WHERE secret = $1`, secret)
	if err == nil && len(all) == 0 {
		err = notFound()
	}
	if err != nil {
		return Share{}, err
	}
	return all[0], nil
}
