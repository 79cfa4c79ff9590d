package pipeline

import (
	"context"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// StoreQuality stores how similar the renditions of a video are to their source, by rendition.
func (t *Tasks) StoreQuality(ctx context.Context, id video.ID, scores map[int]video.QualityScore) error {
	return t.finish(ctx, queue.Task{Kind: queue.Measure, Video: id}, result{record: func(ctx context.Context, tx *store.Tx, v video.Video) error {
		for _, r := range v.Resolutions {
			score, ok := scores[v.Plan.RenditionOf(r.Name)]
			if !ok || r.Status != video.Ready {
				continue
			}
			if err := setQualityScore(ctx, tx, r.ID, score); err != nil {
				return err
			}
		}
		return nil
	}})
}
