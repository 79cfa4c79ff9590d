package catalog

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// maxAhead is how many videos ahead of one are counted.
const maxAhead = 1000

// processingOrder returns the videos of a tenant that are being processed, in the order in which their files were
// accepted, which is the order of their first tasks.
func processingOrder(ctx context.Context, q store.Queries, tenant video.Tenant) ([]video.ID, error) {
	return store.Collect(ctx, q, "read the order of processing", func(row *sql.Rows) (id video.ID, err error) {
		return id, row.Scan(&id)
	}, `SELECT id FROM video WHERE tenant = $1 AND status = 'processing' AND deleted_at IS NULL ORDER BY completed_at, id LIMIT $2`, tenant, maxAhead+1)
}

// idempotencyRecord remembers which video a request with an Idempotency-Key was answered with, so that a repeated
// request gets the same video.
type idempotencyRecord struct {
	tenant    video.Tenant
	key       string
	digest    string // of what the request asked for
	video     video.ID
	createdAt time.Time
}

// claimKey stores r and returns it. If the key is in use, it returns the existing record instead, which no other
// transaction can change before this one ends.
func claimKey(ctx context.Context, tx *store.Tx, r idempotencyRecord) (idempotencyRecord, error) {
	var at sql.NullInt64
	err := tx.QueryRow(ctx, `
		INSERT INTO idempotency_key (tenant, key, digest, video_id, created_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (tenant, key) DO UPDATE SET key = idempotency_key.key
		RETURNING digest, video_id, created_at`,
		r.tenant, r.key, r.digest, r.video, store.Millis(r.createdAt)).Scan(&r.digest, &r.video, &at)
	r.createdAt = store.FromMillis(at)
	return r, store.Wrap("claim idempotency key", err)
}

// readRecord returns the record of a key; without a video if the key has no record.
func readRecord(ctx context.Context, q store.Queries, tenant video.Tenant, key string) (idempotencyRecord, error) {
	r := idempotencyRecord{tenant: tenant, key: key}
	var at sql.NullInt64
	err := q.QueryRow(ctx, `SELECT digest, video_id, created_at FROM idempotency_key WHERE tenant = $1 AND key = $2`, tenant, key).Scan(&r.digest, &r.video, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return r, nil
	}
	r.createdAt = store.FromMillis(at)
	return r, store.Wrap("read idempotency record", err)
}

// replaceRecord overwrites the record of r's key with r.
func replaceRecord(ctx context.Context, tx *store.Tx, r idempotencyRecord) error {
	_, err := tx.Exec(ctx, "replace idempotency record", `
		UPDATE idempotency_key SET digest = $1, video_id = $2, created_at = $3 WHERE tenant = $4 AND key = $5`,
		r.digest, r.video, store.Millis(r.createdAt), r.tenant, r.key)
	return err
}

// removeRecords deletes the records that were made before a time.
func removeRecords(ctx context.Context, tx *store.Tx, before time.Time) error {
	_, err := tx.Exec(ctx, "remove idempotency records", `DELETE FROM idempotency_key WHERE created_at < $1`, store.Millis(before))
	return err
}
