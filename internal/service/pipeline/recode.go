package pipeline

import (
	"context"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// recode returns what is recorded with a chunk whose picture cannot be copied: all of the rendition is encoded, by steps of
// its own. The video stays in processing, its other renditions are not touched, and this one was not shown yet. Later
// chunks of the kind find no rendition to copy; copies that are there, or still come, are left to the purge.
func (t *Tasks) recode(why video.CopyReason) func(context.Context, *store.Tx, video.Video) error {
	return func(ctx context.Context, tx *store.Tx, v video.Video) error {
		if v.Plan == nil || v.Plan.CopiedRendition() < v.Plan.First { // another chunk was first
			return nil
		}
		v.Plan = v.Plan.Recode(why)
		if err := tx.SetFindings(ctx, v.ID, store.Findings{Plan: v.Plan}); err != nil {
			return err
		}
		steps, tasks := expandKinds(v, func(k Kind) bool { return k.Name == queue.Recode })
		if err := tx.InsertSteps(ctx, v.ID, steps); err != nil {
			return err
		}
		tx.OnCommit(func() {
			t.passes.log.InfoContext(ctx, "the picture of the source is encoded instead of copied", "video", v.ID, "reason", why)
		})
		return t.passes.queue.Enqueue(ctx, tx, tasks...)
	}
}
