package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/spool-video/spool/internal/video"
)

// ReplacementOf returns the hidden video whose file will replace the file of another, which may have failed; false: no
// file is on its way.
func (q Queries) ReplacementOf(ctx context.Context, id video.ID) (c video.Video, found bool, err error) {
	all, err := q.SelectVideos(ctx, `WHERE replaces = $1 AND deleted_at IS NULL`, id)
	if err != nil || len(all) == 0 {
		return c, false, err
	}
	return all[0], true, nil
}

// CheckNotReplaced returns the error replace_open while a file is on its way that will replace the file of a video.
func (q Queries) CheckNotReplaced(ctx context.Context, id video.ID) error {
	c, found, err := q.ReplacementOf(ctx, id)
	if err == nil && found && c.Status != video.Fail {
		return video.ReplaceOpen()
	}
	return err
}

// ReplaceFile gives a video what it has after its file was replaced by the file of c, and removes c. Both must be locked.
// Its resolutions are the ones of c, under the ids that they have in now.
func (t *Tx) ReplaceFile(ctx context.Context, now, c video.Video) error {
	for _, table := range []string{"resolution", "execution", "video_cost"} {
		if _, err := t.Exec(ctx, "replace the file of a video", `DELETE FROM `+table+` WHERE video_id = $1`, now.ID); err != nil {
			return err
		}
		if _, err := t.Exec(ctx, "replace the file of a video", `UPDATE `+table+` SET video_id = $1 WHERE video_id = $2`, now.ID, c.ID); err != nil {
			return err
		}
	}
	for i, r := range c.Resolutions {
		if _, err := t.Exec(ctx, "keep the id of a resolution", `UPDATE resolution SET id = $1 WHERE id = $2`, now.Resolutions[i].ID, r.ID); err != nil {
			return err
		}
	}
	// The request that asked for the new file may be repeated, and finds the video.
	if _, err := t.Exec(ctx, "keep an idempotency key", `UPDATE idempotency_key SET video_id = $1 WHERE video_id = $2`, now.ID, c.ID); err != nil {
		return err
	}
	if _, err := t.change(ctx, "remove replacement", c.ID, `DELETE FROM video WHERE id = $1`, c.ID); err != nil {
		return err
	}
	if err := t.setVideo(ctx, now); err != nil {
		return err
	}
	t.emit(video.EventReplaced, now.ID)
	return nil
}

// setVideo stores all columns of a video.
func (t *Tx) setVideo(ctx context.Context, v video.Video) error {
	fields := videoFields(&v)
	set := make([]string, len(fields))
	for i, f := range fields {
		set[i] = fmt.Sprintf("%s = $%d", f.column, i+1)
	}
	query := `UPDATE video SET ` + strings.Join(set, ", ") + fmt.Sprintf(` WHERE id = $%d`, len(fields)+1)
	_, err := t.change(ctx, "store video", v.ID, query, append(valuesOf(fields), v.ID)...)
	return err
}
