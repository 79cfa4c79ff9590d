package pipeline

import (
	"context"
	"slices"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// Reconcile enqueues the tasks that processing videos lack, and returns how many there were. A status
// and its tasks change together, so there should be none. But if somebody edited the database, or
// there is a bug, a video must not be processing for ever.
func (p *Passes) Reconcile(ctx context.Context) (int, error) {
	const page = 100
	found, after := 0, video.ID("")
	for {
		ids, err := p.store.ProcessingVideos(ctx, after, page)
		if err != nil || len(ids) == 0 {
			return found, err
		}
		for _, id := range ids {
			lost, err := p.reconcile(ctx, id)
			found += len(lost)
			if err != nil {
				return found, err
			}
			for _, t := range lost {
				p.log.ErrorContext(ctx, "a task was lost, and is queued again", "task", t.String())
			}
		}
		after = ids[len(ids)-1]
	}
}

func (p *Passes) reconcile(ctx context.Context, id video.ID) (lost []queue.Task, err error) {
	err = p.store.WithVideoLock(ctx, id, func(tx *store.Tx) error {
		v, err := tx.Video(ctx, id)
		if err != nil || v.Status != video.Processing || !v.DeletedAt.IsZero() {
			return err
		}
		steps, err := tx.Steps(ctx, id)
		if err != nil {
			return err
		}
		have, err := p.queue.Names(ctx, tx, id)
		if err != nil {
			return err
		}
		lost = slices.DeleteFunc(p.dueTasks(v, steps), func(t queue.Task) bool { return slices.Contains(have, t.Name()) })
		return p.queue.Enqueue(ctx, tx, lost...)
	})
	return lost, err
}

// dueTasks returns the tasks that a processing video should have now.
func (p *Passes) dueTasks(v video.Video, steps []store.Step) []queue.Task {
	if len(v.Unplanned()) > 0 && !passOpen(steps) {
		return []queue.Task{inspection(v.ID, v.Tenant)}
	}
	_, tasks := expand(p.config, v, false)
	tasks = slices.DeleteFunc(tasks, func(t queue.Task) bool { return !taskOpen(t, v, steps) })
	return append(tasks, assembleTasks(v, toAssemble(v.Plan, steps))...)
}
