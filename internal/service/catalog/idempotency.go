package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/tenants"
	"github.com/spool-video/spool/internal/video"
)

// recordTTL is how long a repeated request is recognised by its key.
const recordTTL = 24 * time.Hour

// insert stores a new video. When the draft has a key that an earlier request had, it stores nothing
// and returns that request's video: a client that never saw the answer may ask again.
func (c *Catalog) insert(ctx context.Context, v video.Video, d video.Draft) (stored video.Video, err error) {
	if d.Key == "" {
		return v, c.store.InTx(ctx, func(tx *store.Tx) error { return c.insertVideo(ctx, tx, v, d.SourceURL) })
	}
	digest, err := digestOf(d)
	if err != nil {
		return video.Video{}, err
	}
	record := idempotencyRecord{tenant: v.Tenant, key: d.Key, digest: digest, video: v.ID, createdAt: v.CreatedAt}
	err = c.store.InTx(ctx, func(tx *store.Tx) error {
		stored, err = c.insertOnce(ctx, tx, v, d.SourceURL, record)
		return err
	})
	return stored, err
}

func (c *Catalog) insertOnce(ctx context.Context, tx *store.Tx, v video.Video, source *string, record idempotencyRecord) (video.Video, error) {
	claimed, err := claimKey(ctx, tx, record)
	if err != nil {
		return video.Video{}, err
	}
	if claimed.video == v.ID {
		return v, c.insertVideo(ctx, tx, v, source)
	}
	earlier, err := tx.Video(ctx, claimed.video)
	gone := video.KindOf(err) == video.NotFound
	if err != nil && !gone {
		return video.Video{}, err
	}
	if gone || !earlier.DeletedAt.IsZero() || v.CreatedAt.Sub(claimed.createdAt) > recordTTL {
		return v, errors.Join(replaceRecord(ctx, tx, record), c.insertVideo(ctx, tx, v, source))
	}
	if claimed.digest != record.digest {
		return video.Video{}, errOtherRequest
	}
	// A resumable upload may have longer already.
	if earlier.Status == video.PendingUpload && earlier.UploadExpiresAt.Before(v.UploadExpiresAt) {
		earlier.UploadExpiresAt = v.UploadExpiresAt
		err = tx.ExtendUpload(ctx, earlier.ID, earlier.UploadExpiresAt)
	}
	return earlier, err
}

var errOtherRequest = &video.Error{Kind: video.Conflict, Code: "idempotency_conflict",
	Msg: "An earlier request with this Idempotency-Key asked for something else. Use another key for each video."}

// recorded returns the video of an earlier request with the key of d, if its file was accepted and it is not deleted.
func (c *Catalog) recorded(ctx context.Context, tenant video.Tenant, d video.Draft) (video.Video, bool, error) {
	if d.Key == "" {
		return video.Video{}, false, nil
	}
	digest, err := digestOf(d)
	if err != nil {
		return video.Video{}, false, err
	}
	record, err := readRecord(ctx, c.store.Queries, tenant, d.Key)
	if err != nil || record.video == "" || c.now().Sub(record.createdAt) > recordTTL {
		return video.Video{}, false, err
	}
	v, err := c.store.Video(ctx, record.video)
	switch {
	case video.KindOf(err) == video.NotFound:
		return video.Video{}, false, nil
	case err != nil || !v.DeletedAt.IsZero() || v.CompletedAt.IsZero():
		return video.Video{}, false, err
	case record.digest != digest:
		return video.Video{}, false, errOtherRequest
	}
	return v, true, nil
}

// insertVideo stores a video, whose file is fetched from source unless that is nil, except if its tenant
// has reached a limit. It is checked after the video was
// counted: from then on no other transaction can use up the same last place.
func (c *Catalog) insertVideo(ctx context.Context, tx *store.Tx, v video.Video, source *string) error {
	if v.Replaces != "" {
		if err := c.beginReplace(ctx, tx, v); err != nil {
			return err
		}
	}
	if err := Insert(ctx, tx, v); err != nil {
		return err
	}
	if err := tx.TellExpiringVideo(ctx, v.ID, v.CreatedAt.Add(video.ExpiryNotice)); err != nil {
		return err
	}
	if source != nil {
		if err := c.imports.Insert(ctx, tx, v, *source); err != nil {
			return err
		}
	}
	act := video.Act{Action: video.ActionVideoCreate, Video: v.ID}
	if v.Replaces != "" {
		act = video.Act{Action: video.ActionVideoReplace, Video: v.Replaces}
	}
	if err := tx.Did(ctx, act); err != nil {
		return err
	}
	usage, err := tenants.UsageOf(ctx, tx.Queries, v.Tenant, v.CreatedAt)
	if err != nil {
		return err
	}
	return usage.CheckCreate()
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

// RemoveExpiredRecords removes the records of requests that no repeated one will name any more.
func (c *Catalog) RemoveExpiredRecords(ctx context.Context) error {
	return c.store.InTx(ctx, func(tx *store.Tx) error { return removeRecords(ctx, tx, c.now().Add(-recordTTL)) })
}
