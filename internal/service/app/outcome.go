package app

import (
	"context"
	"slices"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// Fault counts a failure of unknown cause. It reports true when there were so
// many that another try is not worth it. One of a task that nobody wants any more
// does not count: the count is part of a step, and a step that is never done would
// keep its video at work for ever.
func (a *App) Fault(ctx context.Context, t queue.Task, most int) (giveUp bool, err error) {
	err = a.ifWanted(ctx, t.Video, func(tx *store.Tx) error {
		v, err := tx.Video(ctx, t.Video)
		if err != nil {
			return err
		}
		if steps, err := tx.Steps(ctx, t.Video); err != nil || !open(t, v, steps) {
			return err
		}
		n, err := tx.CountFault(ctx, t.Video, string(t.Kind), t.Number)
		giveUp = n >= most
		return err
	})
	return giveUp, err
}

// GiveUp turns what is unfinished of a video to fail because of a task, stops its
// other tasks and has its left-overs removed. What waits for the end of a round
// was not tried yet: it gets its own.
func (a *App) GiveUp(ctx context.Context, t queue.Task, f *video.Failure) error {
	id, finished := t.Video, video.Status("")
	err := a.ifWanted(ctx, id, func(tx *store.Tx) error {
		v, err := tx.Video(ctx, id)
		if err != nil {
			return err
		}
		steps, err := tx.Steps(ctx, id)
		if err != nil || !open(t, v, steps) { // another worker did the task meanwhile
			return err
		}
		var waiting []video.Name
		if underWay(steps) {
			waiting = v.Unplanned()
		}
		if err := failUnfinished(ctx, tx, v, waiting, f); err != nil {
			return err
		}
		if len(waiting) > 0 {
			return a.nextRound(ctx, tx, v)
		}
		if finished, err = a.settle(ctx, tx, v, f); err != nil {
			return err
		}
		if err := a.retire(ctx, tx, id, afterWork); err != nil {
			return err
		}
		return a.measureIfReady(ctx, tx, id)
	})
	if err == nil {
		a.finished(ctx, id, finished, f)
	}
	return err
}

// failUnfinished turns the resolutions of a video to fail that have not come to
// their end, except some.
func failUnfinished(ctx context.Context, tx *store.Tx, v video.Video, except []video.Name, f *video.Failure) error {
	for i, r := range v.Resolutions {
		if r.Status.Finished() || slices.Contains(except, r.Name) {
			continue
		}
		if err := tx.MoveResolution(ctx, r.ID, video.Fail, f); err != nil {
			return err
		}
		v.Resolutions[i].Status = video.Fail
	}
	return nil
}

// finished tells the operator that a video has come to its end; s is "" when it
// has not.
func (a *App) finished(ctx context.Context, id video.ID, s video.Status, f *video.Failure) {
	switch s {
	case video.Ready:
		a.observe.VideoFinished(s, nil)
		a.log.InfoContext(ctx, "video ready", "video", id)
	case video.Fail:
		a.observe.VideoFinished(s, f)
		a.log.InfoContext(ctx, "video failed", "video", id, "code", f.Code, "reason", f.Message)
	}
}

// settle gives a video the status that follows from its resolutions. It returns
// the new status if the video has just come to its end, else "".
func (a *App) settle(ctx context.Context, tx *store.Tx, v video.Video, f *video.Failure) (video.Status, error) {
	now := video.Summarize(v.Status, v.Resolutions)
	if now == v.Status || !now.Finished() {
		return "", nil
	}
	if now == video.Ready {
		f = nil
	}
	if err := tx.MoveVideo(ctx, v.ID, now, f); err != nil {
		return "", err
	}
	return now, tx.MarkEnded(ctx, v.ID, a.now())
}
