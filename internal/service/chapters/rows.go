package chapters

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// Of returns the chapters of a video, as they were set.
func Of(ctx context.Context, q store.Queries, id video.ID) ([]video.Chapter, error) {
	var text string
	err := q.QueryRow(ctx, `SELECT chapters FROM chapter_list WHERE video_id = $1`, id).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, store.Wrap("read chapters", err)
	}
	return decode(id, text)
}

// Published returns the chapters of a video that its viewers see. A video that is deleted, or not as public as asked
// for, has none.
func Published(ctx context.Context, q store.Queries, id video.ID, public bool) ([]video.ChapterSpan, error) {
	var text string
	var micros int64
	err := q.QueryRow(ctx, `
		SELECT c.chapters, v.duration_us FROM chapter_list AS c JOIN video AS v ON v.id = c.video_id
		 WHERE v.id = $1 AND v.is_public = $2 AND v.deleted_at IS NULL`, id, public).Scan(&text, &micros)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, store.Wrap("read chapters", err)
	}
	all, err := decode(id, text)
	return video.ChapterSpans(all, time.Duration(micros)*time.Microsecond), err
}

func decode(id video.ID, text string) (all []video.Chapter, err error) {
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, fmt.Errorf("chapters of %s: %w", id, err)
	}
	return all, nil
}

// put stores the chapters of a video. Chapters of the file never replace those that a client has set or removed.
func put(ctx context.Context, tx *store.Tx, id video.ID, source video.FileSource, all []video.Chapter) error {
	text, err := json.Marshal(append([]video.Chapter{}, all...)) // none is a list, too
	if err != nil {
		return fmt.Errorf("store chapters of %s: %w", id, err)
	}
	_, err = tx.Exec(ctx, "store chapters", `
		INSERT INTO chapter_list (video_id, source, chapters) VALUES ($1, $2, $3)
		    ON CONFLICT (video_id) DO UPDATE SET source = excluded.source, chapters = excluded.chapters
		 WHERE excluded.source = 'uploaded' OR chapter_list.source = 'embedded'`, id, source, string(text))
	return err
}
