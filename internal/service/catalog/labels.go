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
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %s%s%s", len(tenant), len(l.Key), tenant, l.Key, l.Value))
	return int64(binary.BigEndian.Uint64(sum[:]))
}

// Insert stores a new video with its resolutions and labels.
func Insert(ctx context.Context, tx *store.Tx, v video.Video) error {
	if err := tx.InsertVideo(ctx, v); err != nil {
		return err
	}
	return insertLabels(ctx, tx, v)
}

func insertLabels(ctx context.Context, tx *store.Tx, v video.Video) error {
	hashes := map[string]int{} // keys of a JSON object; see store.IDList
	for _, l := range video.Labels(v.Metadata) {
		hashes[strconv.FormatInt(labelHash(v.Tenant, l), 10)] = 0
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

// RemoveLabels removes the labels of a video that is deleted, so that searches need not skip it.
func RemoveLabels(ctx context.Context, tx *store.Tx, id video.ID) error {
	_, err := tx.Exec(ctx, "remove labels", `DELETE FROM metadata_index WHERE video_id = $1`, id)
	return err
}

// describe stores the title and the metadata of a video, and replaces its labels. The video must be locked.
func describe(ctx context.Context, tx *store.Tx, v video.Video) error {
	if _, err := tx.Exec(ctx, "describe video", `UPDATE video SET title = $1, title_key = $2, metadata = $3 WHERE id = $4`,
		v.Title, store.TitleKey(v.Title), store.NullText(string(v.Metadata)), v.ID); err != nil {
		return err
	}
	if err := RemoveLabels(ctx, tx, v.ID); err != nil {
		return err
	}
	return insertLabels(ctx, tx, v)
}
