package app

import (
	"context"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// removalTime is how long a deletion may go on after its client has left.
const removalTime = time.Minute

// DeleteVideo removes a video and everything of it. When it returns nil, its
// addresses are dead and reads do not find it.
//
// First the video is hidden, its work stopped and the removal of its objects
// queued, in one transaction: from then on nothing brings it back. Then the
// objects go, and last the row. If the middle part fails, the caller is told to
// try again, and the queued task does so on its own.
func (a *App) DeleteVideo(ctx context.Context, by Actor, id video.ID) error {
	v, err := a.owned(ctx, by, Delete, id)
	if err != nil {
		return err
	}
	if v.DeletedAt.IsZero() {
		if err := a.condemn(ctx, id); err != nil {
			return err
		}
		a.reached(VideoCondemned)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removalTime)
	defer cancel()
	return a.removeAll(ctx, id)
}

func (a *App) condemn(ctx context.Context, id video.ID) error {
	return a.store.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, id); err != nil {
			return err // another deletion was faster
		}
		if err := tx.MarkDeleted(ctx, id, a.now()); err != nil {
			return err
		}
		if err := tx.RequestLease(ctx, id); err != nil {
			return err
		}
		tx.OnCommit(func() { a.holds.stop(id) })
		return a.retire(ctx, tx, id, afterDeletion)
	})
}

// DeleteResolution does for one resolution what DeleteVideo does for a video:
// its row goes and the removal of its files is queued in one transaction, then
// the files go.
func (a *App) DeleteResolution(ctx context.Context, by Actor, id video.ResolutionID) error {
	v, err := a.videoOf(ctx, by, Delete, id)
	if err != nil {
		return err
	}
	if err := a.forget(ctx, v.ID, id); video.KindOf(err) == video.NotFound {
		return video.ResolutionNotFound()
	} else if err != nil {
		return err
	}
	a.reached(ResolutionGone)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removalTime)
	defer cancel()
	return a.removeFiles(ctx, v, id)
}

// videoOf returns the video that a resolution belongs to, for a caller who wants
// to do this with the resolution.
func (a *App) videoOf(ctx context.Context, by Actor, do Scope, id video.ResolutionID) (video.Video, error) {
	if err := by.must(do); err != nil {
		return video.Video{}, err
	}
	vid, err := a.store.VideoOf(ctx, id)
	if err != nil {
		return video.Video{}, err
	}
	v, err := a.visible(ctx, by, do, vid)
	if video.KindOf(err) == video.NotFound {
		return video.Video{}, video.ResolutionNotFound()
	}
	return v, err
}

// removeFiles removes what people play of a resolution, unless one of the same
// name was added meanwhile: then who added it has removed them.
func (a *App) removeFiles(ctx context.Context, v video.Video, id video.ResolutionID) error {
	i := slices.IndexFunc(v.Resolutions, func(r video.Resolution) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	name, condemned := v.Resolutions[i].Name, true
	err := a.ifWanted(ctx, v.ID, func(tx *store.Tx) error {
		condemned = false
		now, err := tx.Video(ctx, v.ID)
		if _, again := now.Resolution(name); err != nil || again {
			return err
		}
		return a.removeWhile(ctx, tx, playFiles(v, name))
	})
	if err == nil && condemned { // nothing is added to a video that is being deleted
		return a.removeKeys(ctx, playFiles(v, name))
	}
	return err
}

// playFiles returns the keys of all that people play of a resolution.
func playFiles(v video.Video, name video.Name) []string {
	keys := []string{playFolder(v) + filmFile(name)}
	for i := range v.Thumbnails {
		keys = append(keys, playFolder(v)+thumbnailFile(name, i))
	}
	return keys
}

// forget removes a resolution's row, gives its video the status that follows
// from what is left, and has the resolution's files removed.
func (a *App) forget(ctx context.Context, vid video.ID, id video.ResolutionID) error {
	var finished video.Status
	var why *video.Failure
	err := a.store.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, vid); err != nil {
			return err
		}
		if err := tx.RemoveResolution(ctx, id); err != nil {
			return err
		}
		v, err := tx.Video(ctx, vid)
		if err != nil {
			return err
		}
		if v.Status == video.Processing {
			why = firstFailure(v.Resolutions)
			if finished, err = a.settle(ctx, tx, v, why); err != nil {
				return err
			}
		}
		if finished != "" {
			if err := a.retire(ctx, tx, vid, afterDeletion); err != nil {
				return err
			}
			return a.measureIfReady(ctx, tx, vid)
		}
		if err := a.skipRound(ctx, tx, v); err != nil {
			return err
		}
		return a.enqueuePurge(ctx, tx, vid, afterDeletion)
	})
	if err == nil {
		a.finished(ctx, vid, finished, why)
	}
	return err
}

// NoResolutionLeft is why a video failed whose resolutions were all deleted
// before one was ready.
func NoResolutionLeft() *video.Failure {
	return video.Failf(video.InternalFailure, "Every resolution was deleted before one was ready.")
}

func firstFailure(all []video.Resolution) *video.Failure {
	for _, r := range all {
		if r.Failure != nil {
			return r.Failure
		}
	}
	return NoResolutionLeft()
}
