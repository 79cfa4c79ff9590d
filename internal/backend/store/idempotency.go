package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// IdempotencyRecord remembers which video a request with an Idempotency-Key was
// answered with, so that a repeated request gets the same video.
type IdempotencyRecord struct {
	Tenant    video.Tenant
	Key       string
	Digest    string // of what the request asked for
	Video     video.ID
	CreatedAt time.Time
}

// ClaimIdempotencyKey stores r and returns it. If the key is in use, it returns
// the existing record instead, which no other transaction can change before this
// one ends.
func (t *Tx) ClaimIdempotencyKey(ctx context.Context, r IdempotencyRecord) (IdempotencyRecord, error) {
	var at sql.NullInt64
	err := t.db.QueryRowContext(ctx, `
		INSERT INTO idempotency_key (tenant, key, digest, video_id, created_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (tenant, key) DO UPDATE SET key = idempotency_key.key
		RETURNING digest, video_id, created_at`,
		r.Tenant, r.Key, r.Digest, r.Video, Millis(r.CreatedAt)).Scan(&r.Digest, &r.Video, &at)
	r.CreatedAt = FromMillis(at)
	return r, Wrap("claim idempotency key", err)
}

// ReplaceIdempotencyRecord overwrites the record of r's key with r.
func (t *Tx) ReplaceIdempotencyRecord(ctx context.Context, r IdempotencyRecord) error {
	_, err := t.Exec(ctx, "replace idempotency record", `
		UPDATE idempotency_key SET digest = $1, video_id = $2, created_at = $3 WHERE tenant = $4 AND key = $5`,
		r.Digest, r.Video, Millis(r.CreatedAt), r.Tenant, r.Key)
	return err
}

// RemoveIdempotencyRecords deletes the records that were made before a time.
func (s *Store) RemoveIdempotencyRecords(ctx context.Context, before time.Time) error {
	return s.InTx(ctx, func(tx *Tx) error { return tx.removeIdempotencyRecords(ctx, before) })
}

func (q Queries) removeIdempotencyRecords(ctx context.Context, before time.Time) error {
	_, err := q.Exec(ctx, "remove idempotency records", `DELETE FROM idempotency_key WHERE created_at < $1`, Millis(before))
	return err
}

// ExtendUpload postpones the expiry of an upload. It changes nothing if the video
// is not waiting for one.
func (t *Tx) ExtendUpload(ctx context.Context, id video.ID, until time.Time) error {
	_, err := t.Exec(ctx, "extend upload", `UPDATE video SET upload_expires_at = $1 WHERE id = $2 AND status = $3`,
		Millis(until), id, video.PendingUpload)
	return err
}

// KeepUploadOpen postpones the expiry of an upload, also for a video that failed
// because of an earlier upload. A video whose upload expired stays failed.
func (s *Store) KeepUploadOpen(ctx context.Context, id video.ID, until time.Time) error {
	return s.InTx(ctx, func(tx *Tx) error {
		_, err := tx.Exec(ctx, "keep upload open", `
			UPDATE video SET upload_expires_at = $1
			 WHERE id = $2 AND upload_expires_at < $1 AND completed_at IS NULL AND deleted_at IS NULL
			   AND (failure_code IS NULL OR failure_code <> $3)`,
			Millis(until), id, video.UploadExpired)
		return err
	})
}
