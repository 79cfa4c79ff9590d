package janitor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/backend/diskspace"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/panics"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/cdn"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/imports"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/video"
)

// Deleter deletes videos and resolutions.
type Deleter struct {
	cleaner *Cleaner
	passes  *pipeline.Passes
	leases  *uploads.Leases
	purges  *cdn.Recorder
	release func() bool

	// Wait is how long a request waits for the storage. After that it fails, and the removal goes on.
	Wait time.Duration
}

// NewDeleter returns a Deleter whose objects the cleaner removes. A CDN is told by way of purges. release gives up
// disk space that is held for deletions, and reports whether there was any; nil: none is held.
func NewDeleter(c *Cleaner, p *pipeline.Passes, l *uploads.Leases, purges *cdn.Recorder, release func() bool) *Deleter {
	return &Deleter{cleaner: c, passes: p, leases: l, purges: purges, release: release, Wait: storageWait}
}

const (
	// deletionTimeout is how long a deletion may go on after its client has left.
	deletionTimeout = time.Minute
	// storageWait is how long a client waits for a storage that does not answer. Removing the files of a video
	// takes a second, or some if there are thousands.
	storageWait = 30 * time.Second
)

// removeSoon removes what was recorded as deleted. If that takes longer than d.Wait, it returns an error and the
// removal goes on; the purge task then retries it until it succeeds. A client that deletes a video again learns
// whether all is gone; for a resolution only the purge task knows.
func (d *Deleter) removeSoon(ctx context.Context, remove func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deletionTimeout)
	done := make(chan error, 1)
	go func() {
		defer cancel()
		done <- panics.Catch(func() error { return diskspace.WithRelease(d.release, func() error { return remove(ctx) }) })
	}()
	timer := time.NewTimer(d.Wait)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return &video.Error{Kind: video.Unavailable, Code: "storage_unavailable", RetryAfter: 5 * time.Second,
			Msg: "The deletion is recorded, but not finished, because the storage is slow or does not answer. The files are removed as soon as it does.",
			Err: fmt.Errorf("the storage has not removed the files within %s", d.Wait)}
	}
}

// DeleteVideo removes a video and everything of it. When it returns nil, its addresses are dead and
// reads do not find it.
func (d *Deleter) DeleteVideo(ctx context.Context, by auth.Actor, id video.ID) error {
	v, err := auth.OwnVideo(ctx, d.cleaner.store, by, auth.Delete, id)
	if err != nil {
		return err
	}
	if v.DeletedAt.IsZero() {
		if err := diskspace.WithRelease(d.release, func() error { return d.markDeleted(ctx, id) }); err != nil {
			return err
		}
		d.cleaner.hook.Reach(failpoint.VideoDeleted)
	}
	return d.removeSoon(ctx, func(ctx context.Context) error { return d.cleaner.removeVideo(ctx, id) })
}

func (d *Deleter) markDeleted(ctx context.Context, id video.ID) error {
	return d.mark(ctx, id, func(*store.Tx) (bool, error) { return true, nil }, "")
}

// mark marks a video deleted for a reason, with the file on its way to it, unless the condition is false once the video
// is locked.
func (d *Deleter) mark(ctx context.Context, id video.ID, condition func(*store.Tx) (bool, error), why video.DeletionReason) error {
	return d.cleaner.store.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, id); err != nil {
			return err // another deletion was faster
		}
		if yes, err := condition(tx); err != nil || !yes {
			return err
		}
		hidden, found, err := tx.ReplacementOf(ctx, id)
		if err == nil && found {
			err = d.markLocked(ctx, tx, hidden.ID, "")
		}
		if err != nil {
			return err
		}
		if err := tx.Did(ctx, video.Act{Action: video.ActionVideoDelete, Video: id, Target: string(why)}); err != nil {
			return err
		}
		return d.markLocked(ctx, tx, id, why)
	})
}

func (d *Deleter) markLocked(ctx context.Context, tx *store.Tx, id video.ID, why video.DeletionReason) error {
	if err := tx.Lock(ctx, id); err != nil {
		return err
	}
	if err := d.purges.Video(ctx, tx, cdn.VideoDeleted, id); err != nil {
		return err
	}
	if err := tx.MarkDeletedFor(ctx, id, d.cleaner.now(), why); err != nil {
		return err
	}
	if err := catalog.RemoveLabels(ctx, tx, id); err != nil {
		return err
	}
	if err := imports.Forget(ctx, tx, id); err != nil {
		return err
	}
	if err := imports.ForgetTracks(ctx, tx, id); err != nil {
		return err
	}
	if err := d.leases.Interrupt(ctx, tx, id); err != nil {
		return err
	}
	return d.passes.Cancel(ctx, tx, id, pipeline.AfterDeletion)
}

// GiveUpReplace gives up to replace the file of a video, which stays as it is.
func (d *Deleter) GiveUpReplace(ctx context.Context, by auth.Actor, id video.ID) error {
	if _, err := auth.VisibleVideo(ctx, d.cleaner.store, by, auth.Write, id); err != nil {
		return err
	}
	var hidden video.Video
	err := d.cleaner.store.InTx(ctx, func(tx *store.Tx) (err error) {
		if err := tx.Lock(ctx, id); err != nil {
			return err
		}
		var found bool
		hidden, found, err = tx.ReplacementOf(ctx, id)
		if err != nil {
			return err
		}
		if !found {
			return errNotReplaced
		}
		if err := tx.Did(ctx, video.Act{Action: video.ActionVideoKeep, Video: id}); err != nil {
			return err
		}
		return d.markLocked(ctx, tx, hidden.ID, "")
	})
	if err != nil {
		return err
	}
	return d.removeSoon(ctx, func(ctx context.Context) error { return d.cleaner.removeVideo(ctx, hidden.ID) })
}

var errNotReplaced = &video.Error{Kind: video.NotFound, Code: "replacement_not_found", Msg: "The file of this video is not being replaced."}

// DeleteResolution does for one resolution what DeleteVideo does for a video: its row is removed and
// the removal of its files enqueued in one transaction, then the files are removed.
func (d *Deleter) DeleteResolution(ctx context.Context, by auth.Actor, id video.ResolutionID) error {
	v, err := auth.VideoOfResolution(ctx, d.cleaner.store, by, auth.Delete, id)
	if err != nil {
		return err
	}
	err = diskspace.WithRelease(d.release, func() error { return d.removeResolution(ctx, v.ID, id) })
	if video.KindOf(err) == video.NotFound {
		return video.ResolutionNotFound()
	} else if err != nil {
		return err
	}
	d.cleaner.hook.Reach(failpoint.ResolutionGone)
	return d.removeSoon(ctx, func(ctx context.Context) error { return d.removeFiles(ctx, v, id) })
}

func (d *Deleter) removeResolution(ctx context.Context, vid video.ID, id video.ResolutionID) error {
	return d.cleaner.store.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, vid); err != nil {
			return err
		}
		if err := d.purges.Resolution(ctx, tx, vid, id); err != nil {
			return err
		}
		if err := tx.RemoveResolution(ctx, id); err != nil {
			return err
		}
		if err := tx.Did(ctx, video.Act{Action: video.ActionResolutionDelete, Video: vid, Target: string(id)}); err != nil {
			return err
		}
		return d.passes.ResolutionDeleted(ctx, tx, vid)
	})
}

// removeFiles removes the files that people play of a resolution, unless one of the same name was
// added meanwhile: then the request that added it has removed them.
func (d *Deleter) removeFiles(ctx context.Context, v video.Video, id video.ResolutionID) error {
	i := slices.IndexFunc(v.Resolutions, func(r video.Resolution) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	if err := pipeline.CheckStorage(ctx, d.cleaner.store, d.cleaner.blobs); err != nil {
		return err
	}
	name, deleted := v.Resolutions[i].Name, true
	err := d.cleaner.store.WithVideoLock(ctx, v.ID, func(tx *store.Tx) error {
		deleted = false
		now, err := tx.Video(ctx, v.ID)
		if _, again := now.Resolution(name); err != nil || again {
			return err
		}
		return pipeline.RemoveLocked(ctx, tx, d.cleaner.blobs, objects.PlaybackKeys(v, name))
	})
	if err == nil && deleted { // nothing is added to a video that is marked deleted
		return pipeline.Remove(ctx, d.cleaner.blobs, objects.PlaybackKeys(v, name))
	}
	return err
}
