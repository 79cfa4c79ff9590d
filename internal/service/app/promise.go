package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// promiseLife is for how long a repeated request is recognised by its key.
const promiseLife = 24 * time.Hour

// insert stores a new video. When the draft has a key that an earlier request
// had, it stores nothing and returns that request's video: a client that never
// saw the answer may ask again.
func (a *App) insert(ctx context.Context, v video.Video, d video.Draft) (stored video.Video, err error) {
	if d.Key == "" {
		return v, a.store.InTx(ctx, func(tx *store.Tx) error { return tx.InsertVideo(ctx, v) })
	}
	digest, err := digestOf(d)
	if err != nil {
		return video.Video{}, err
	}
	p := store.IdempotencyRecord{Tenant: v.Tenant, Key: d.Key, Digest: digest, Video: v.ID, CreatedAt: v.CreatedAt}
	err = a.store.InTx(ctx, func(tx *store.Tx) error {
		stored, err = a.insertOnce(ctx, tx, v, p)
		return err
	})
	return stored, err
}

func (a *App) insertOnce(ctx context.Context, tx *store.Tx, v video.Video, p store.IdempotencyRecord) (video.Video, error) {
	made, err := tx.ClaimIdempotencyKey(ctx, p)
	if err != nil {
		return video.Video{}, err
	}
	if made.Video == v.ID {
		return v, tx.InsertVideo(ctx, v)
	}
	earlier, err := tx.Video(ctx, made.Video)
	gone := video.KindOf(err) == video.NotFound
	if err != nil && !gone {
		return video.Video{}, err
	}
	if gone || !earlier.DeletedAt.IsZero() || v.CreatedAt.Sub(made.CreatedAt) > promiseLife {
		return v, errors.Join(tx.ReplaceIdempotencyRecord(ctx, p), tx.InsertVideo(ctx, v))
	}
	if made.Digest != p.Digest {
		return video.Video{}, &video.Error{Kind: video.Conflict, Code: "idempotency_conflict",
			Msg: "An earlier request with this Idempotency-Key asked for something else; use a key of its own for each video."}
	}
	// A resumable upload may have longer already.
	if earlier.Status == video.PendingUpload && earlier.UploadExpiresAt.Before(v.UploadExpiresAt) {
		earlier.UploadExpiresAt = v.UploadExpiresAt
		err = tx.ExtendUpload(ctx, earlier.ID, earlier.UploadExpiresAt)
	}
	return earlier, err
}

// digestOf is the same for drafts that ask for the same.
func digestOf(d video.Draft) (string, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return "", fmt.Errorf("digest a draft: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// forgetPromises forgets keys that no repeated request will name any more.
func (a *App) forgetPromises(ctx context.Context) error {
	return a.store.RemoveIdempotencyRecords(ctx, a.now().Add(-promiseLife))
}
