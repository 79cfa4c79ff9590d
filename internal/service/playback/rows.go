package playback

import (
	"context"
	"database/sql"
	"errors"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// version changes with each part of a video that is made, with its status, and with what is deleted of it. If it is
// unchanged, everything read in between is still valid; asking for it costs far less than reading the plan and all
// steps.
type version struct {
	Status      video.Status
	Deleted     bool
	PlayableAt  int64
	Resolutions int
	Steps, Done int
}

func versionOf(ctx context.Context, q store.Queries, id video.ID) (version, error) {
	var v version
	err := q.QueryRow(ctx, `
		SELECT status, deleted_at IS NOT NULL, COALESCE(playable_at, 0),
		       (SELECT COUNT(*) FROM resolution WHERE video_id = $1),
		       (SELECT COUNT(*) FROM step WHERE video_id = $1),
		       (SELECT COUNT(done_at) FROM step WHERE video_id = $1)
		  FROM video WHERE id = $1`, id).Scan(&v.Status, &v.Deleted, &v.PlayableAt, &v.Resolutions, &v.Steps, &v.Done)
	if errors.Is(err, sql.ErrNoRows) {
		return version{}, video.VideoNotFound()
	}
	return v, store.Wrap("read how far a video is", err)
}
