package app

import (
	"context"
	"slices"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// Rescue queues the tasks that videos at work lack, and returns how many there
// were. A status and its tasks change together, so there should be none; but if
// somebody's hands were in the database, or a fault of ours was, a video must not
// be at work for ever.
func (a *App) Rescue(ctx context.Context) (int, error) {
	const page = 100
	rescued, after := 0, video.ID("")
	for {
		ids, err := a.store.ProcessingVideos(ctx, after, page)
		if err != nil || len(ids) == 0 {
			return rescued, err
		}
		for _, id := range ids {
			lost, err := a.rescue(ctx, id)
			rescued += len(lost)
			if err != nil {
				return rescued, err
			}
			for _, t := range lost {
				a.log.ErrorContext(ctx, "a task was lost, and is queued again", "task", t.String())
			}
		}
		after = ids[len(ids)-1]
	}
}

func (a *App) rescue(ctx context.Context, id video.ID) (lost []queue.Task, err error) {
	err = a.ifWanted(ctx, id, func(tx *store.Tx) error {
		v, err := tx.Video(ctx, id)
		if err != nil || v.Status != video.Processing || !v.DeletedAt.IsZero() {
			return err
		}
		steps, err := tx.Steps(ctx, id)
		if err != nil {
			return err
		}
		have, err := a.queue.Names(ctx, tx, id)
		if err != nil {
			return err
		}
		lost = slices.DeleteFunc(due(v, steps), func(t queue.Task) bool { return slices.Contains(have, t.Name()) })
		return a.queue.Enqueue(ctx, tx, lost...)
	})
	return lost, err
}

// due returns what there is to do for a video at work now.
func due(v video.Video, steps []store.Step) []queue.Task {
	if len(v.Unplanned()) > 0 && !underWay(steps) {
		return []queue.Task{inspection(v.ID, v.Tenant)}
	}
	if films, last := assemblies(steps); last {
		return assembleTasks(v, films)
	}
	_, tasks := layOut(v, v.Plan)
	return slices.DeleteFunc(tasks, func(t queue.Task) bool { return !open(t, v, steps) })
}
