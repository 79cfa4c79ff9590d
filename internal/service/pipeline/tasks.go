package pipeline

import (
	"context"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/clock"
	"github.com/spool-video/spool/internal/backend/diskspace"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// Tasks is what workers call: it says whether a task is wanted, and records what became of it.
type Tasks struct {
	passes  *Passes
	store   *store.Store
	blobs   blob.Store
	reserve *diskspace.Reserve
	clock   *clock.Clock
	hook    failpoint.Hook
}

// NewTasks returns the tasks of passes. The clock is the one that the passes use.
func NewTasks(p *Passes, r *diskspace.Reserve, c *clock.Clock, hook failpoint.Hook) *Tasks {
	return &Tasks{passes: p, store: p.store, blobs: p.blobs, reserve: r, clock: c, hook: hook}
}

// LoadTask returns the video that a task is about. It reports false when the task's result is not needed
// any more.
func (t *Tasks) LoadTask(ctx context.Context, task queue.Task) (v video.Video, wanted bool, err error) {
	kind := KindOf(task.Kind)
	v, err = t.store.VideoWithPlan(ctx, task.Video)
	if video.KindOf(err) == video.NotFound {
		// A task that was just ending may have left an object after its video was deleted, so a
		// purge is wanted even then.
		return video.Video{}, kind.Stage == Purge, nil
	}
	if err != nil {
		return video.Video{}, false, err
	}
	if kind.Stage == Purge {
		return v, true, nil
	}
	if !v.DeletedAt.IsZero() || v.CompletedAt.IsZero() || v.Status == video.Fail {
		return v, false, nil
	}
	steps, err := t.store.Steps(ctx, task.Video)
	return v, taskOpen(task, v, steps), err
}

// Progress records how far a task has come. It reports false when the task is not needed any more.
func (t *Tasks) Progress(ctx context.Context, task queue.Task, done float64) (bool, error) {
	return t.store.SetProgress(ctx, task.Video, string(task.Kind), task.Number, done)
}

// CountFailure counts a failure of unknown cause. It reports true when there were so many that
// another attempt is not worth it. A failure of a task that is not needed any more does not count:
// the count is part of a step, and a step that is never done would keep its video processing for
// ever.
func (t *Tasks) CountFailure(ctx context.Context, task queue.Task, limit int) (giveUp bool, err error) {
	err = t.store.WithVideoLock(ctx, task.Video, func(tx *store.Tx) error {
		v, err := tx.Video(ctx, task.Video)
		if err != nil {
			return err
		}
		if steps, err := tx.Steps(ctx, task.Video); err != nil || !taskOpen(task, v, steps) {
			return err
		}
		n, err := tx.CountFault(ctx, task.Video, string(task.Kind), task.Number)
		giveUp = n >= limit
		return err
	})
	return giveUp, err
}

// GiveUp records that a task cannot be done: what it makes is left out, if the video can go on without it, or
// the video fails.
func (t *Tasks) GiveUp(ctx context.Context, task queue.Task, f *video.Failure) error {
	switch kind := KindOf(task.Kind); {
	case kind.Name == queue.Texts:
		return t.giveUpTexts(ctx, task, f)
	case kind.Codec != "":
		return t.giveUpVariant(ctx, task, f)
	case kind.Name == queue.Sound:
		return t.failTrack(ctx, task, f)
	case kind.maySkip():
		return t.Skip(ctx, task)
	}
	return t.failVideo(ctx, task, f)
}

// failVideo fails what is unfinished of a video because of a task, stops the other tasks and has their
// files purged. Resolutions added during the pass were not tried yet: they start in the next one.
func (t *Tasks) failVideo(ctx context.Context, task queue.Task, f *video.Failure) error {
	id, p := task.Video, t.passes
	return t.store.WithVideoLock(ctx, id, func(tx *store.Tx) error {
		v, err := tx.Video(ctx, id)
		if err != nil {
			return err
		}
		steps, err := tx.Steps(ctx, id)
		if err != nil || !taskOpen(task, v, steps) { // another worker did the task meanwhile
			return err
		}
		var waiting []video.Name
		if passOpen(steps) {
			waiting = v.Unplanned()
		}
		if err := failUnfinished(ctx, tx, v, waiting, f); err != nil {
			return err
		}
		if len(waiting) > 0 {
			return p.startNextPass(ctx, tx, v)
		}
		if _, err = p.updateStatus(ctx, tx, v, f); err != nil {
			return err
		}
		if err := p.Cancel(ctx, tx, id, AfterPass); err != nil {
			return err
		}
		return p.afterPass(ctx, tx, id)
	})
}

// Skip goes on without the result of an optional task: audio that cannot be decoded leaves a silent
// video, and a comparison with the source is only missing in the report.
func (t *Tasks) Skip(ctx context.Context, task queue.Task) error {
	return t.finish(ctx, task, result{})
}

// removeWork removes what a task has stored for a video that was deleted meanwhile.
func (t *Tasks) removeWork(ctx context.Context, in video.Folder) error {
	if in == "" {
		return nil
	}
	_, err := blob.DeletePrefix(ctx, t.blobs, objects.Work.Prefix(in))
	return err
}
