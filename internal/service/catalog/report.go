package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/json"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

// Report is all that is known about the work on a video. What was found in the file, and what was
// decided, follows from the video's plan.
type Report struct {
	Video      video.Video
	Cost       video.Cost
	Executions []video.Execution // in the order they ended; of very many, not all
}

// Report returns what became of a video's file, and why. It works for public and private videos, in
// every state.
func (c *Catalog) Report(ctx context.Context, by auth.Actor, id video.ID) (Report, error) {
	if _, err := auth.VisibleVideo(ctx, c.store, by, auth.Read, id); err != nil {
		return Report{}, err
	}
	v, err := c.store.VideoWithPlan(ctx, id)
	if err != nil {
		return Report{}, err
	}
	r := Report{Video: v}
	if r.Cost, err = pipeline.CostOf(ctx, c.store.Queries, id); err != nil {
		return Report{}, err
	}
	r.Executions, err = pipeline.ExecutionsOf(ctx, c.store.Queries, id)
	return r, err
}

// ReportVersion names what the report on a video says: it is another one whenever the report has changed.
// It reports false while the work on the video goes on.
func (c *Catalog) ReportVersion(ctx context.Context, by auth.Actor, id video.ID) (version [sha256.Size]byte, settled bool, err error) {
	v, err := auth.VisibleVideo(ctx, c.store, by, auth.Read, id)
	if err != nil {
		return version, false, err
	}
	cost, err := pipeline.CostOf(ctx, c.store.Queries, id) // it grows with every run
	if err != nil {
		return version, false, err
	}
	all, err := json.Marshal(struct {
		Video video.Video
		Cost  video.Cost
	}{v, cost})
	return sha256.Sum256(all), v.Status.Finished(), err
}

// CodecOf returns the codec beside H.264 that a run belongs to; "" if it belongs to none.
func CodecOf(run video.Execution) video.Codec { return pipeline.KindOf(queue.Kind(run.Task)).Codec }
