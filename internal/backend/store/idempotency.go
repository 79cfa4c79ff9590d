package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// IdempotencyRecord is what a request with an Idempotency-Key was answered with: the same
// request is answered with the same video again.
type IdempotencyRecord struct {
	Tenant    video.Tenant
	Key       string
	Digest    string // of what the request asked for
	Video     video.ID
	CreatedAt time.Time
}

// IdempotencyRecord makes p, and returns it, unless its key was used before: then it
// returns what was promised. Nobody else can change that before tx ends.
func (t *Tx) ClaimIdempotencyKey(ctx context.Context, p IdempotencyRecord) (IdempotencyRecord, error) {
	var at sql.NullInt64
	err := t.db.QueryRowContext(ctx, `
		INSERT INTO promise (tenant, key, digest, video_id, created_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (tenant, key) DO UPDATE SET key = promise.key
		RETURNING digest, video_id, created_at`,
		p.Tenant, p.Key, p.Digest, p.Video, millis(p.CreatedAt)).Scan(&p.Digest, &p.Video, &at)
	p.CreatedAt = fromMillis(at)
	return p, wrap("promise", err)
}

// ReplaceIdempotencyRecord has the key of a promise stand for another one from now on.
func (t *Tx) ReplaceIdempotencyRecord(ctx context.Context, p IdempotencyRecord) error {
	_, err := t.affected(ctx, "renew promise", `UPDATE promise SET digest = $1, video_id = $2, created_at = $3 WHERE tenant = $4 AND key = $5`,
		p.Digest, p.Video, millis(p.CreatedAt), p.Tenant, p.Key)
	return err
}

// RemoveIdempotencyRecords forgets those that were made before a time.
func (t *Tx) RemoveIdempotencyRecords(ctx context.Context, before time.Time) error {
	_, err := t.affected(ctx, "forget promises", `DELETE FROM promise WHERE created_at < $1`, millis(before))
	return err
}

// ExtendUpload has a video wait for its upload until a later time. One that does
// not wait for it is left as it is.
func (t *Tx) ExtendUpload(ctx context.Context, id video.ID, until time.Time) error {
	_, err := t.affected(ctx, "extend upload", `UPDATE video SET upload_expires_at = $1 WHERE id = $2 AND status = $3`,
		millis(until), id, video.PendingUpload)
	return err
}

// KeepUploadOpen has a video wait for its upload until a later time, also one
// that failed because of an upload before. One that was given up stays so.
func (t *Tx) KeepUploadOpen(ctx context.Context, id video.ID, until time.Time) error {
	_, err := t.affected(ctx, "keep upload open", `
		UPDATE video SET upload_expires_at = $1
		 WHERE id = $2 AND upload_expires_at < $1 AND completed_at IS NULL AND deleted_at IS NULL
		   AND (failure_code IS NULL OR failure_code <> $3)`,
		millis(until), id, video.UploadExpired)
	return err
}
