package playback

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// version changes with each part of a video that is made, with its status, with who may see it, and with what is deleted of it. If it is
// unchanged, everything read in between is still valid; asking for it costs far less than reading the plan and all
// steps. The steps count while the video is in work.
type version struct {
	Status      video.Status
	Deleted     bool
	Public      bool
	Moving      video.Visibility
	PlayableAt  int64
	Resolutions int
	Steps, Done int
}

func versionOf(ctx context.Context, q store.Queries, id video.ID) (version, error) {
	var v version
	err := q.QueryRow(ctx, `
		SELECT status, deleted_at IS NOT NULL, is_public, COALESCE(moving_to, ''), COALESCE(playable_at, 0),
		       (SELECT COUNT(*) FROM resolution WHERE video_id = $1),
		       CASE status WHEN 'processing' THEN (SELECT COUNT(*) FROM step WHERE video_id = $1) ELSE 0 END,
		       CASE status WHEN 'processing' THEN (SELECT COUNT(done_at) FROM step WHERE video_id = $1) ELSE 0 END
		  FROM video WHERE id = $1`, id).Scan(&v.Status, &v.Deleted, &v.Public, &v.Moving, &v.PlayableAt, &v.Resolutions, &v.Steps, &v.Done)
	if errors.Is(err, sql.ErrNoRows) {
		return version{}, video.VideoNotFound()
	}
	return v, store.Wrap("read how far a video is", err)
}

// filesOf returns the files that a video lists. The whole video has a plan, too, which is large for a long one.
func filesOf(ctx context.Context, q store.Queries, id video.ID) (files []video.File, err error) {
	var text sql.NullString
	err = q.QueryRow(ctx, "SELECT files FROM video WHERE id = $1", id).Scan(&text)
	if err == nil && text.Valid {
		err = json.Unmarshal([]byte(text.String), &files)
	}
	return files, store.Wrap("read the files of a video", err)
}
