package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/spool-video/spool/internal/video"
)

// maxIndexed is how many labels of a video are indexed. Each takes 180 to 270 bytes, so
// this many take about as much as the largest metadata itself. Of a video with more,
// none is indexed: searches read its metadata.
const maxIndexed = 64

// storedLabels are the labels of a video as the index knows them: hashes, each with the
// time when the video was created.
type storedLabels map[string]int64

// labelsOf returns what to index of a video. It reports false if that is too much.
func labelsOf(v video.Video) (storedLabels, bool) {
	all := video.Labels(v.Metadata)
	if len(all) > maxIndexed {
		return nil, false
	}
	set := make(storedLabels, len(all))
	for _, l := range all {
		set[strconv.FormatInt(labelHash(v.Tenant, l), 10)] = v.CreatedAt.UnixMilli()
	}
	return set, true
}

// labelHash is what the index stores of a label. Two labels may have the same hash, so
// what the index finds is compared again. The tenant is part of it: nobody can make
// videos that the searches of another tenant come across.
func labelHash(tenant video.Tenant, l video.Label) int64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %s%s%s", len(tenant), len(l.Key), tenant, l.Key, l.Value))
	return int64(binary.BigEndian.Uint64(sum[:]))
}

// insertLabels adds the labels of videos, with one statement. Whoever changes the
// metadata of a video replaces its labels in the same transaction.
func (q queries) insertLabels(ctx context.Context, all map[video.ID]storedLabels) error {
	text, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("index metadata: %w", err)
	}
	// WHERE TRUE, because SQLite would take ON for that of a join.
	_, err = q.affected(ctx, "index metadata", `
		INSERT INTO label (hash, created_at, video_id)
		SELECT CAST(l.key AS BIGINT), CAST(CAST(l.value AS TEXT) AS BIGINT), v.key
		  FROM json_each($1) AS v CROSS JOIN json_each(v.value) AS l
		 WHERE TRUE
		    ON CONFLICT DO NOTHING`, string(text))
	return err
}

// Describe stores the title and the metadata of a video, and replaces its labels. The video
// must be locked.
func Describe(ctx context.Context, t *Tx, v video.Video) error {
	labels, indexed := labelsOf(v)
	if _, err := t.affected(ctx, "describe video", `UPDATE video SET title = $1, metadata = $2, labelled = $3 WHERE id = $4`,
		textOrNull(v.Title), textOrNull(string(v.Metadata)), indexed, v.ID); err != nil {
		return err
	}
	if _, err := t.affected(ctx, "remove labels", `DELETE FROM label WHERE video_id = $1`, v.ID); err != nil {
		return err
	}
	if len(labels) == 0 {
		return nil
	}
	return t.insertLabels(ctx, map[video.ID]storedLabels{v.ID: labels})
}

// Labels is the index of metadata.
type Labels struct{ s *Store }

// Labels returns the index of metadata of this store.
func (s *Store) Labels() Labels { return Labels{s} }

// Backfill indexes up to limit videos that were stored without labels: before the index
// existed, or by an older process that runs beside this one. The newest come first. It
// returns how many there were; none are left after 0, except for those that are locked
// at the moment. It is one transaction, so a process that is killed leaves only whole
// videos, and several processes may call it at once.
func (l Labels) Backfill(ctx context.Context, limit int) (n int, err error) {
	err = l.s.InTx(ctx, func(tx *Tx) error {
		n, err = tx.backfill(ctx, limit)
		return err
	})
	return n, err
}

func (t *Tx) backfill(ctx context.Context, limit int) (int, error) {
	all, err := t.unlabelled(ctx, limit)
	if err != nil || len(all) == 0 {
		return 0, err
	}
	indexed, done := map[video.ID]storedLabels{}, map[bool][]video.ID{}
	for _, v := range all {
		set, ok := labelsOf(v)
		if ok {
			indexed[v.ID] = set
		}
		done[ok] = append(done[ok], v.ID)
	}
	if err := t.insertLabels(ctx, indexed); err != nil {
		return 0, err
	}
	for ok, ids := range done {
		in, arg := idSubquery(2, ids)
		if _, err := t.affected(ctx, "index metadata", `UPDATE video SET labelled = $1 WHERE id IN `+in, ok, arg); err != nil {
			return 0, err
		}
	}
	return len(all), nil
}

// unlabelled returns what labelsOf needs of videos to index, and locks them. It skips
// those that another transaction has locked: they may be about to be deleted.
func (t *Tx) unlabelled(ctx context.Context, limit int) ([]video.Video, error) {
	query := `
		SELECT id, tenant, created_at, metadata FROM video
		 WHERE labelled IS NULL AND metadata IS NOT NULL AND deleted_at IS NULL
		 ORDER BY id DESC LIMIT $1`
	if t.postgres {
		query += ` FOR NO KEY UPDATE SKIP LOCKED`
	}
	return collect(ctx, t.queries, "find videos to index", func(row *sql.Rows) (v video.Video, err error) {
		var created sql.NullInt64
		var metadata []byte
		err = row.Scan(&v.ID, &v.Tenant, &created, &metadata)
		v.CreatedAt, v.Metadata = fromMillis(created), metadata
		return v, err
	}, query, limit)
}
