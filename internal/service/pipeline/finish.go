package pipeline

import (
	"context"
	"slices"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/video"
)

// result is what a task has made, beside the objects that it has stored. A task that was skipped has the
// zero value.
type result struct {
	folder video.Folder // where it was stored; "": nowhere
	frames int64
	pass   *int            // the first rendition of the pass that it was made for; nil: it serves every pass
	run    string          // identifies the execution in the names of the files that it has stored; "": it stored none
	made   map[int]float64 // of another codec: the renditions that were wanted, with their CRF
	// record stores the rest in the transaction that finishes the step; nil: there is nothing.
	record func(ctx context.Context, tx *store.Tx, v video.Video) error
}

// step is the step of a task, done.
func (r result) step(t queue.Task) store.Step {
	return store.Step{Kind: string(t.Kind), Number: t.Number, Frames: r.frames, Run: r.run, Done: true}
}

// store calls record.
func (r result) store(ctx context.Context, tx *store.Tx, id video.ID) error {
	if r.record == nil {
		return nil
	}
	v, err := tx.Video(ctx, id)
	if err != nil {
		return err
	}
	return r.record(ctx, tx, v)
}

// finish records the result of a task, with everything that follows from it.
func (t *Tasks) finish(ctx context.Context, task queue.Task, r result) error {
	finish := t.finishPart
	if KindOf(task.Kind).Stage == After {
		finish = t.finishAfterPass
	} else {
		t.hook.Reach(failpoint.PartStored)
	}
	var locked bool
	err := t.store.WithVideoLock(ctx, task.Video, func(tx *store.Tx) error {
		locked = true
		return finish(ctx, tx, task, r)
	})
	if err == nil && !locked { // the video was deleted meanwhile, so what was stored is removed
		return t.removeWork(ctx, r.folder)
	}
	return err
}

// afterPass enqueues the background work of a ready video. The open steps keep the source until all of it
// is done.
func (p *Passes) afterPass(ctx context.Context, tx *store.Tx, id video.ID) error {
	v, err := tx.Video(ctx, id)
	if err != nil || v.Status != video.Ready || v.Plan == nil {
		return err
	}
	steps, tasks := expand(p.config, v, true)
	if err := tx.InsertSteps(ctx, id, steps); err != nil {
		return err
	}
	return p.queue.Enqueue(ctx, tx, tasks...)
}

// finishAfterPass records the result of a task that follows after a pass. The last one of them has
// what was kept for them purged.
func (t *Tasks) finishAfterPass(ctx context.Context, tx *store.Tx, task queue.Task, r result) error {
	id := task.Video
	if stale, err := r.isStale(ctx, tx, task); err != nil || stale {
		return err
	}
	if done, err := tx.FinishStep(ctx, id, r.step(task), t.clock.Now()); err != nil || !done {
		return err
	}
	if err := r.store(ctx, tx, id); err != nil {
		return err
	}
	steps, err := tx.Steps(ctx, id)
	if err != nil {
		return err
	}
	if err := t.enqueueNext(ctx, tx, task, steps); err != nil {
		return err
	}
	if steps, err = t.makeAgain(ctx, tx, task, steps); err != nil {
		return err
	}
	return t.endAfterPass(ctx, tx, id, steps)
}

// isStale reports whether a result was made for an earlier version of the file, for an earlier pass, before more
// renditions were wanted, or with another CRF: its worker slept through the end of that.
func (r result) isStale(ctx context.Context, tx *store.Tx, task queue.Task) (bool, error) {
	if r.folder == "" {
		return false, nil
	}
	v, err := tx.Video(ctx, task.Video)
	if err != nil || v.Folder() != r.folder {
		return true, err
	}
	if r.pass != nil && (v.Plan == nil || v.Plan.First != *r.pass) {
		return true, nil
	}
	kind := KindOf(task.Kind)
	for n, crf := range ratesOf(v, kind.Codec) {
		if made, ok := r.made[n]; (!ok || made != crf) && (kind.Then != "" || n == task.Number) {
			return true, nil
		}
	}
	return false, nil
}

// enqueueNext enqueues what waits for all tasks of a kind, when the last one is done.
func (t *Tasks) enqueueNext(ctx context.Context, tx *store.Tx, task queue.Task, steps []store.Step) error {
	then := KindOf(task.Kind).Then
	open := func(k queue.Kind) func(store.Step) bool {
		return func(s store.Step) bool { return s.Kind == string(k) && !s.Done }
	}
	if then == "" || slices.ContainsFunc(steps, open(task.Kind)) {
		return nil
	}
	v, err := tx.Video(ctx, task.Video)
	if err != nil {
		return err
	}
	var next []queue.Task
	for _, s := range steps {
		if open(then)(s) {
			next = append(next, newTask(then, v.ID, v.Tenant, s.Number))
		}
	}
	return t.passes.queue.Enqueue(ctx, tx, next...)
}

// endAfterPass has what was kept for the tasks after a pass purged, if all of them are done.
func (t *Tasks) endAfterPass(ctx context.Context, tx *store.Tx, id video.ID, steps []store.Step) error {
	if slices.ContainsFunc(steps, func(s store.Step) bool { return !s.Done }) {
		return nil
	}
	if err := tx.DropSteps(ctx, id); err != nil {
		return err
	}
	staged := slices.ContainsFunc(steps, func(s store.Step) bool {
		return stepKind(s).inPass() || stepKind(s).keepsStaged() || stepKind(s).Codec != ""
	})
	if t.passes.config.KeepSource && !staged {
		return nil
	}
	return t.passes.enqueuePurge(ctx, tx, id, AfterTheRest)
}
