package app

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// A round is the work on some resolutions of a video, from the inspection of its
// file to the last film. complete-upload begins the first. A resolution that is
// added later, or tried again, is in processing at once and belongs to the next
// round, which begins when no other is under way.

// AddResolution has one more resolution made of a video. One that the video has
// already stays as it is, so a request may be repeated.
func (a *App) AddResolution(ctx context.Context, by Actor, id video.ID, name video.Name) (State, error) {
	v, err := a.visible(ctx, by, Write, id)
	if err != nil {
		return State{}, err
	}
	if _, has := v.Resolution(name); !has {
		if err := a.sourceKept(ctx, v); err != nil {
			return State{}, err
		}
		if err := a.store.InTx(ctx, func(tx *store.Tx) error { return a.addResolution(ctx, tx, id, name) }); err != nil {
			return State{}, err
		}
	}
	return a.VideoState(ctx, by, id)
}

func (a *App) addResolution(ctx context.Context, tx *store.Tx, id video.ID, name video.Name) error {
	if err := tx.Lock(ctx, id); err != nil {
		return err
	}
	v, err := tx.Video(ctx, id)
	if err != nil {
		return err
	}
	if _, has := v.Resolution(name); has {
		return nil // another request was faster
	}
	if err := a.stillKept(ctx, tx, v); err != nil {
		return err
	}
	if !v.CompletedAt.IsZero() { // there may have been one of this name, whose deletion is not through
		if err := a.removeWhile(ctx, tx, playFiles(v, name)); err != nil {
			return err
		}
	}
	r := video.Resolution{ID: video.ResolutionID(a.newID()), VideoID: id, Name: name, Status: v.Status, Failure: v.Failure}
	if !v.CompletedAt.IsZero() {
		r.Status, r.Failure = video.Processing, nil
	}
	if err := tx.InsertResolution(ctx, r); err != nil {
		return err
	}
	return a.takeUp(ctx, tx, v, name)
}

// RetryResolution has a resolution made that failed before. One that did not
// fail stays as it is.
func (a *App) RetryResolution(ctx context.Context, by Actor, id video.ResolutionID) (State, error) {
	v, err := a.videoOf(ctx, by, Write, id)
	if err != nil {
		return State{}, err
	}
	if slices.ContainsFunc(v.Resolutions, func(r video.Resolution) bool { return r.ID == id && r.Status == video.Fail }) {
		if err := a.sourceKept(ctx, v); err != nil {
			return State{}, err
		}
		err = a.store.InTx(ctx, func(tx *store.Tx) error { return a.retryResolution(ctx, tx, v.ID, id) })
		if video.KindOf(err) == video.NotFound {
			return State{}, video.ResolutionNotFound()
		}
		if err != nil {
			return State{}, err
		}
	}
	return a.VideoState(ctx, by, v.ID)
}

func (a *App) retryResolution(ctx context.Context, tx *store.Tx, vid video.ID, id video.ResolutionID) error {
	if err := tx.Lock(ctx, vid); err != nil {
		return err
	}
	v, err := tx.Video(ctx, vid)
	if err != nil {
		return err
	}
	for _, r := range v.Resolutions {
		if r.ID != id {
			continue
		}
		if r.Status != video.Fail {
			return nil
		}
		if v.CompletedAt.IsZero() {
			return &video.Error{Kind: video.Conflict, Code: "upload_failed",
				Msg: "What failed is the upload. Upload the file and complete it again, or create another video."}
		}
		if err := a.stillKept(ctx, tx, v); err != nil {
			return err
		}
		if err := tx.MoveResolution(ctx, id, video.Processing, nil); err != nil {
			return err
		}
		return a.takeUp(ctx, tx, v, r.Name)
	}
	return video.ResolutionNotFound()
}

// sourceKept refuses what would need a file that is not there any more. While a
// video is at work, its file is.
func (a *App) sourceKept(ctx context.Context, v video.Video) error {
	if !v.Status.Finished() || v.CompletedAt.IsZero() {
		return nil
	}
	look, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	_, err := a.blobs.Stat(look, v.Source.Key)
	if errors.Is(err, fs.ErrNotExist) {
		return &video.Error{Kind: video.Conflict, Code: "source_gone",
			Msg: "The uploaded file of this video is not kept, so nothing more can be made of it. Create another video."}
	}
	if err != nil {
		return storageError("look for the source", err)
	}
	return nil
}

// stillKept is sourceKept under the lock of the video, without which no source is
// removed. Whoever asks has asked before, so that a storage that does not answer
// keeps no lock.
func (a *App) stillKept(ctx context.Context, tx *store.Tx, v video.Video) error {
	return tx.KeepAliveWhile(ctx, func(ctx context.Context) error { return a.sourceKept(ctx, v) })
}

// takeUp puts a resolution that is in processing on the list of the next round. v
// is the video as it was before.
func (a *App) takeUp(ctx context.Context, tx *store.Tx, v video.Video, name video.Name) error {
	if v.CompletedAt.IsZero() {
		return nil // complete-upload will begin the first round
	}
	if v.Plan != nil && v.Plan.RenditionOf(name) >= 0 {
		if err := tx.SetPlan(ctx, v.ID, v.Plan.Without(name)); err != nil {
			return err
		}
	}
	if v.Status == video.Processing {
		return nil // who ends the round under way begins the next
	}
	if err := tx.MoveVideo(ctx, v.ID, video.Processing, nil); err != nil {
		return err
	}
	return a.nextRound(ctx, tx, v)
}

// nextRound begins the work on the resolutions that wait for it. What is left of
// the work before, such as a comparison with the source, is called off.
func (a *App) nextRound(ctx context.Context, tx *store.Tx, v video.Video) error {
	if err := a.queue.Cancel(ctx, tx, v.ID, queue.Purge); err != nil {
		return err
	}
	if err := tx.DropSteps(ctx, v.ID); err != nil {
		return err
	}
	return a.queue.Enqueue(ctx, tx, inspection(v.ID, v.Tenant))
}

// skipRound begins the next round if nobody waits for the one under way any more.
func (a *App) skipRound(ctx context.Context, tx *store.Tx, v video.Video) error {
	waiting := v.Unplanned()
	awaited := func(r video.Resolution) bool { return !r.Status.Finished() && !slices.Contains(waiting, r.Name) }
	if len(waiting) == 0 || slices.ContainsFunc(v.Resolutions, awaited) {
		return nil
	}
	if steps, err := tx.Steps(ctx, v.ID); err != nil || !underWay(steps) {
		return err
	}
	return a.nextRound(ctx, tx, v)
}

// underWay reports whether a round is between its inspection and its end, which
// is when the last film is assembled.
func underWay(steps []store.Step) bool {
	return slices.ContainsFunc(steps, func(s store.Step) bool { return s.Kind == string(queue.Assemble) && !s.Done })
}

// holdsUp reports whether the films of a round cannot be assembled before a step is
// done. The inspection comes before the round and the comparison after it, so a row
// that trouble with one of these has left says nothing about a round.
func holdsUp(s store.Step) bool {
	return !s.Done && s.Kind != string(queue.Inspect) && s.Kind != string(queue.Measure)
}

// covers reports whether a plan is about a resolution that another one is about
// as well.
func covers(plan, other *video.Plan) bool {
	if plan == nil {
		return false
	}
	for _, r := range other.Renditions {
		for _, n := range r.Names {
			if plan.RenditionOf(n) >= 0 {
				return true
			}
		}
	}
	return false
}
