package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// labelHash is what the index stores of a label. Two labels may have the same hash, so
// what the index finds is compared again. The tenant is part of the hash, so that no
// tenant can make videos that slow the searches of another one.
func labelHash(tenant video.Tenant, l video.Label) int64 {
	return hashOf(fmt.Appendf(nil, "%d %d %s%s%s", len(tenant), len(l.Key), tenant, l.Key, l.Value))
}

// tagHash is what the index stores of a tag. It differs from the hash of every label, whose text begins with a number.
func tagHash(tenant video.Tenant, tag string) int64 {
	return hashOf(fmt.Appendf(nil, "tag %d %s%s", len(tenant), tenant, tag))
}

func hashOf(text []byte) int64 {
	sum := sha256.Sum256(text)
	return int64(binary.BigEndian.Uint64(sum[:]))
}

// Insert stores a new video with its resolutions, labels and tags.
func Insert(ctx context.Context, tx *store.Tx, v video.Video) error {
	if err := tx.InsertVideo(ctx, v); err != nil {
		return err
	}
	return insertLabels(ctx, tx, v)
}

// insertLabels stores the labels of a video, and its tags, in the index.
func insertLabels(ctx context.Context, tx *store.Tx, v video.Video) error {
	hashes := map[string]int{} // keys of a JSON object; see store.IDList
	for _, l := range video.Labels(v.Metadata) {
		hashes[strconv.FormatInt(labelHash(v.Tenant, l), 10)] = 0
	}
	for _, tag := range v.Tags {
		hashes[strconv.FormatInt(tagHash(v.Tenant, tag), 10)] = 0
	}
	if len(hashes) == 0 {
		return nil
	}
	text, err := json.Marshal(hashes)
	if err != nil {
		return fmt.Errorf("index metadata: %w", err)
	}
	_, err = tx.Exec(ctx, "index metadata", `
		INSERT INTO metadata_index (hash, created_at, video_id)
		SELECT CAST(l.key AS BIGINT), CAST($1 AS BIGINT), $2 FROM json_each($3) AS l`, store.Millis(v.CreatedAt), v.ID, string(text))
	return err
}

// RemoveLabels removes the labels and the tags of a video from the index. It is for one that is deleted, so that searches need not skip it.
func RemoveLabels(ctx context.Context, tx *store.Tx, id video.ID) error {
	_, err := tx.Exec(ctx, "remove labels", `DELETE FROM metadata_index WHERE video_id = $1`, id)
	return err
}

// edited are the columns that an edit may change.
var edited = []string{"title", "title_key", "metadata", "tags", "expires_at", "expiry_told"}

// describe stores what the client of a video says about it, and replaces its labels. The video must be locked.
func describe(ctx context.Context, tx *store.Tx, v video.Video) error {
	if err := tx.StoreFields(ctx, &v, edited...); err != nil {
		return err
	}
	if err := RemoveLabels(ctx, tx, v.ID); err != nil {
		return err
	}
	return insertLabels(ctx, tx, v)
}
