package pipeline

import (
	"context"
	"slices"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// StartTexts enqueues the task that makes the texts of a ready video, which must be locked. If it waits or runs already, that
// makes all of them. For a video that is not ready, the end of its pass does it.
func (p *Passes) StartTexts(ctx context.Context, tx *store.Tx, v video.Video) error {
	steps, err := tx.Steps(ctx, v.ID)
	if err != nil || v.Status != video.Ready || passOpen(steps) {
		return err
	}
	if slices.ContainsFunc(steps, func(s store.Step) bool { return s.Kind == string(queue.Texts) && !s.Done }) {
		return nil
	}
	// The row of an earlier task stays while other tasks of the video are open.
	if _, err := tx.Exec(ctx, "start texts", `DELETE FROM step WHERE video_id = $1 AND kind = $2`, v.ID, queue.Texts); err != nil {
		return err
	}
	if err := tx.InsertSteps(ctx, v.ID, []store.Step{{Kind: string(queue.Texts)}}); err != nil {
		return err
	}
	return p.queue.Enqueue(ctx, tx, newTask(queue.Texts, v.ID, v.Tenant, 0))
}

// FinishTexts ends the task that makes texts, unless another text was asked for meanwhile. It reports false then.
func (t *Tasks) FinishTexts(ctx context.Context, task queue.Task) (ended bool, err error) {
	err = t.store.WithVideoLock(ctx, task.Video, func(tx *store.Tx) error {
		v, err := tx.Video(ctx, task.Video)
		if err != nil || v.Speech.IsOpen() {
			return err
		}
		ended = true
		return t.finishAfterPass(ctx, tx, task, result{})
	})
	return ended, err
}

// giveUpTexts ends the task that makes texts, with the failure of all that are not made.
func (t *Tasks) giveUpTexts(ctx context.Context, task queue.Task, f *video.Failure) error {
	return t.store.WithVideoLock(ctx, task.Video, func(tx *store.Tx) error {
		v, err := tx.Video(ctx, task.Video)
		if err != nil {
			return err
		}
		for {
			m, n, open := v.Speech.Next()
			if !open {
				break
			}
			m.Status, m.Failure = video.Fail, f
			v.Speech = v.Speech.With(n, m)
		}
		if err := tx.StoreFields(ctx, &v, "speech"); err != nil {
			return err
		}
		return t.finishAfterPass(ctx, tx, task, result{})
	})
}
