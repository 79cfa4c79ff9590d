package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/spool-video/spool/internal/video"
)

// Growth changes with each part of a video that is made, with its status, and
// with what is deleted of it. Two equal ones mean that what was read between them
// is still true; asking for it costs far less than reading the plan and all steps.
type Growth struct {
	Status      video.Status
	Deleted     bool
	PlayableAt  int64
	Resolutions int
	Steps, Done int
}

// GrowthOf returns the growth of a video in s.
func GrowthOf(ctx context.Context, s *Store, id video.ID) (Growth, error) { return s.growth(ctx, id) }

func (q Queries) growth(ctx context.Context, id video.ID) (Growth, error) {
	var g Growth
	err := q.db.QueryRowContext(ctx, `
		SELECT status, deleted_at IS NOT NULL, COALESCE(playable_at, 0),
		       (SELECT COUNT(*) FROM resolution WHERE video_id = $1),
		       (SELECT COUNT(*) FROM step WHERE video_id = $1),
		       (SELECT COUNT(done_at) FROM step WHERE video_id = $1)
		  FROM video WHERE id = $1`, id).Scan(&g.Status, &g.Deleted, &g.PlayableAt, &g.Resolutions, &g.Steps, &g.Done)
	if errors.Is(err, sql.ErrNoRows) {
		return Growth{}, video.VideoNotFound()
	}
	return g, Wrap("read how far a video is", err)
}
