package app

import (
	"context"

	"github.com/spool-video/spool/internal/blob"
	"github.com/spool-video/spool/internal/store"
	"github.com/spool-video/spool/internal/video"
)

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
		return a.retire(ctx, tx, id)
	})
}

// removeAll removes every object of a deleted video, and then its row.
func (a *App) removeAll(ctx context.Context, id video.ID) error {
	for _, place := range places {
		if _, err := blob.DeletePrefix(ctx, a.blobs, folder(place, id)); err != nil {
			return storageError("remove "+place+" objects", err)
		}
	}
	a.reached(ObjectsRemoved)
	return a.store.InTx(ctx, func(tx *store.Tx) error { return tx.RemoveVideo(ctx, id) })
}

// DeleteResolution does for one resolution what DeleteVideo does for a video.
func (a *App) DeleteResolution(ctx context.Context, by Actor, id video.ResolutionID) error {
	if err := by.must(Delete); err != nil {
		return err
	}
	vid, err := a.store.VideoOf(ctx, id)
	if err != nil {
		return err
	}
	v, err := a.visible(ctx, by, Delete, vid)
	if video.KindOf(err) == video.NotFound {
		return video.ResolutionNotFound()
	}
	if err != nil {
		return err
	}
	var name video.Name
	for _, r := range v.Resolutions {
		if r.ID == id {
			name = r.Name
		}
	}
	// Objects first: a crash in between leaves a resolution that can be deleted
	// again, never a file that nobody can find. The work that might write them
	// anew finds no row afterwards, and they are removed once more below.
	if err := a.removeResolution(ctx, v, name); err != nil {
		return err
	}
	if err := a.forget(ctx, vid, id); err != nil {
		return err
	}
	a.reached(ResolutionGone)
	return a.removeResolution(ctx, v, name)
}

func (a *App) removeResolution(ctx context.Context, v video.Video, name video.Name) error {
	keys := []string{playFolder(v.ID, v.IsPublic) + filmFile(name)}
	for i := range v.Thumbnails {
		keys = append(keys, playFolder(v.ID, v.IsPublic)+thumbnailFile(name, i))
	}
	if err := a.blobs.Delete(ctx, keys...); err != nil {
		return storageError("remove resolution", err)
	}
	return nil
}

// forget removes a resolution's row and gives its video the status that follows
// from what is left.
func (a *App) forget(ctx context.Context, vid video.ID, id video.ResolutionID) error {
	err := a.store.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, vid); err != nil {
			return err
		}
		if err := tx.RemoveResolution(ctx, id); err != nil {
			return err
		}
		v, err := tx.Video(ctx, vid)
		if err != nil || v.Status != video.Processing {
			return err
		}
		return a.settleRest(ctx, tx, v)
	})
	if video.KindOf(err) == video.NotFound {
		return video.ResolutionNotFound()
	}
	return err
}

// settleRest ends the work on a video of which no resolution is unfinished.
func (a *App) settleRest(ctx context.Context, tx *store.Tx, v video.Video) error {
	finished, err := a.settle(ctx, tx, v, firstFailure(v.Resolutions))
	if err != nil || finished == "" {
		return err
	}
	return a.retire(ctx, tx, v.ID)
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
