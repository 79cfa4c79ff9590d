package pipeline

import (
	"context"
	"slices"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// Reconcile enqueues the tasks that videos lack, and returns how many there were. A status and its
// tasks change together, so no task should be missing. But if the database was edited, or there is a
// bug, neither a video nor a variant must be processing for ever.
func (p *Passes) Reconcile(ctx context.Context) (int, error) {
	found, err := p.reconcileAll(ctx, processingVideos, p.reconcile)
	if err != nil {
		return found, err
	}
	more, err := p.reconcileAll(ctx, lackingVariants, p.reconcileReady)
	return found + more, err
}

// reconcileAll reconciles the videos of a list, which it reads in pages.
func (p *Passes) reconcileAll(ctx context.Context, list func(context.Context, store.Queries, video.ID, int) ([]video.ID, error),
	reconcile func(context.Context, video.ID) ([]queue.Task, error)) (found int, err error) {
	const page = 100
	after := video.ID("")
	for {
		ids, err := list(ctx, p.store.Queries, after, page)
		if err != nil || len(ids) == 0 {
			return found, err
		}
		for _, id := range ids {
			lost, err := reconcile(ctx, id)
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
		if lost, err = p.notQueued(ctx, tx, id, p.dueTasks(v, steps)); err != nil {
			return err
		}
		return p.queue.Enqueue(ctx, tx, lost...)
	})
	return lost, err
}

// notQueued returns the tasks of a video that its queue does not have.
func (p *Passes) notQueued(ctx context.Context, tx *store.Tx, id video.ID, due []queue.Task) ([]queue.Task, error) {
	have, err := p.queue.Names(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(due, func(t queue.Task) bool { return slices.Contains(have, t.Name()) }), nil
}

// dueTasks returns the tasks that a processing video should have now.
func (p *Passes) dueTasks(v video.Video, steps []store.Step) []queue.Task {
	if len(v.Unplanned()) > 0 && !passOpen(steps) {
		return []queue.Task{inspection(v.ID, v.Tenant)}
	}
	if v.Plan == nil {
		return nil
	}
	_, tasks := expand(p.config, v, false)
	tasks = slices.DeleteFunc(tasks, func(t queue.Task) bool { return !taskOpen(t, v, steps) })
	return append(tasks, assembleTasks(v, toAssemble(v.Plan, steps))...)
}

// reconcileReady is reconcile for what follows after a pass.
func (p *Passes) reconcileReady(ctx context.Context, id video.ID) (lost []queue.Task, err error) {
	if err := p.checkStorageFor(ctx, id); err != nil {
		return nil, err
	}
	err = p.store.WithVideoLock(ctx, id, func(tx *store.Tx) error {
		v, err := tx.Video(ctx, id)
		if err != nil || v.Status != video.Ready || v.Plan == nil { // a pass has begun, whose end starts all of it
			return err
		}
		steps, err := tx.Steps(ctx, id)
		if err != nil {
			return err
		}
		if lost, err = p.notQueued(ctx, tx, id, tasksAfterPass(v, steps)); err != nil {
			return err
		}
		started, err := p.startVariants(ctx, tx, v, steps)
		if err != nil {
			return err
		}
		lost = append(lost, started...)
		return p.queue.Enqueue(ctx, tx, lost...)
	})
	return lost, err
}

// checkStorageFor fails if startVariants would have to wait, under a lock, for a storage that does not
// answer.
func (p *Passes) checkStorageFor(ctx context.Context, id video.ID) error {
	steps, err := p.store.Steps(ctx, id)
	if err != nil || len(steps) > 0 {
		return err
	}
	v, err := p.store.VideoWithPlan(ctx, id)
	if err == nil {
		_, err = p.sourceGone(ctx, v)
	}
	if video.KindOf(err) == video.NotFound { // deleted meanwhile
		return nil
	}
	return err
}

// tasksAfterPass returns the tasks that the open steps of a ready video should have now.
func tasksAfterPass(v video.Video, steps []store.Step) []queue.Task {
	open := func(kind queue.Kind) bool {
		return slices.ContainsFunc(steps, func(s store.Step) bool { return s.Kind == string(kind) && !s.Done })
	}
	var due []queue.Task
	for _, s := range steps {
		k := stepKind(s)
		if !s.Done && k.Stage == After && !(k.waits() && open(chunksBefore(k.Name))) {
			due = append(due, newTask(k.Name, v.ID, v.Tenant, s.Number))
		}
	}
	return due
}

// startVariants adds the steps of what a ready video lacks, if there are none, and returns the tasks
// that can begin. If the source is gone, the variants have failed.
func (p *Passes) startVariants(ctx context.Context, tx *store.Tx, v video.Video, before []store.Step) (tasks []queue.Task, err error) {
	for _, k := range kinds {
		if k.Codec == "" || k.waits() || !v.LacksAny(k.Codec) ||
			slices.ContainsFunc(before, func(s store.Step) bool { return stepKind(s).Codec == k.Codec }) {
			continue
		}
		var gone bool
		err := tx.KeepAliveWhile(ctx, func(ctx context.Context) (err error) {
			gone, err = p.sourceGone(ctx, v)
			return err
		})
		if err != nil {
			return nil, err
		}
		if gone || len(v.Wanted(k.Codec)) == 0 { // the latter if the plan has no such rendition, which is a bug
			f := video.Failf(video.InternalFailure, "The uploaded file was removed before it was encoded in %s.", k.Codec.Title())
			if err := failVariants(ctx, tx, lacking(v, queue.Task{Kind: k.Name}), k.Codec, f); err != nil {
				return nil, err
			}
			continue
		}
		steps, first := expandKinds(v, func(other Kind) bool { return other.Codec == k.Codec })
		if err := tx.InsertSteps(ctx, v.ID, steps); err != nil {
			return nil, err
		}
		tasks = append(tasks, first...)
	}
	return tasks, nil
}
