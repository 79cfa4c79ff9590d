package pipeline

import (
	"context"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// measureIfReady enqueues the comparison of a ready video with its source. Its open step keeps the
// source until it is done.
func (p *Passes) measureIfReady(ctx context.Context, tx *store.Tx, id video.ID) error {
	if !p.config.MeasureQuality {
		return nil
	}
	v, err := tx.Video(ctx, id)
	if err != nil || v.Status != video.Ready || v.Plan == nil || len(v.Plan.Samples) == 0 {
		return err
	}
	if err := tx.InsertSteps(ctx, id, []store.Step{{Kind: string(queue.Measure)}}); err != nil {
		return err
	}
	return p.queue.Enqueue(ctx, tx, newTask(queue.Measure, id, v.Tenant, 0))
}

// StoreQuality stores how similar the renditions of a video are to their source, by rendition. If the
// source was kept for the comparison alone, it is purged.
func (t *Tasks) StoreQuality(ctx context.Context, id video.ID, scores map[int]video.QualityScore) error {
	return t.store.WithVideoLock(ctx, id, func(tx *store.Tx) error {
		if done, err := tx.FinishStep(ctx, id, string(queue.Measure), 0, 0, t.clock.Now()); err != nil || !done {
			return err
		}
		v, err := tx.Video(ctx, id)
		if err != nil {
			return err
		}
		for _, r := range v.Resolutions {
			score, ok := scores[v.Plan.RenditionOf(r.Name)]
			if !ok || r.Status != video.Ready {
				continue
			}
			if err := tx.SetQualityScore(ctx, r.ID, score); err != nil {
				return err
			}
		}
		if err := tx.DropSteps(ctx, id); err != nil || t.passes.config.KeepSource {
			return err
		}
		return t.passes.enqueuePurge(ctx, tx, id, AfterMeasurement)
	})
}
