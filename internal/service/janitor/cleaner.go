package janitor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/video"
)

// Cleaner removes the objects that are no longer needed.
type Cleaner struct {
	rules
	store    *store.Store
	queue    queue.Queue
	blobs    blob.Store
	uploads  *uploads.Service
	marker   *Marker
	finished func(video.Status, *video.Failure)
	hook     failpoint.Hook
}

// NewCleaner returns a Cleaner, which calls finished for each video that fails.
func NewCleaner(c Config, s *store.Store, q queue.Queue, blobs blob.Store, u *uploads.Service, m *Marker, now func() time.Time,
	finished func(video.Status, *video.Failure), hook failpoint.Hook) *Cleaner {
	return &Cleaner{rules: rules{c, now}, store: s, queue: q, blobs: blobs, uploads: u, marker: m, finished: finished, hook: hook}
}

const (
	// idleTimeout is how long a purge waits for tasks that are just ending.
	idleTimeout = 10 * time.Second
	// removalBatch is how many objects are removed under one lock.
	removalBatch = 100
)

// Purge removes the objects that a video does not need any more: chunk files when it is finished, the
// files of a resolution that was deleted, everything when the video itself was.
func (c *Cleaner) Purge(ctx context.Context, id video.ID) error {
	_, exists, err := c.living(ctx, id)
	if err != nil {
		return err
	}
	// A task that is just ending may still write. Wait for it, but not for ever: the sweep removes
	// what it leaves later.
	idle, cancel := context.WithTimeout(ctx, idleTimeout)
	defer cancel()
	if err := c.queue.WaitIdle(idle, id, pipeline.DelayNoPurge(!exists)...); err != nil && ctx.Err() != nil {
		return err
	}
	v, exists, err := c.living(ctx, id)
	switch {
	case err != nil:
		return err
	case !exists:
		return c.removeVideo(ctx, id)
	}
	return c.cleanFolder(ctx, v.Folder())
}

// living returns a video, and whether it exists and is not marked deleted.
func (c *Cleaner) living(ctx context.Context, id video.ID) (v video.Video, exists bool, err error) {
	v, err = c.store.Video(ctx, id)
	if video.KindOf(err) == video.NotFound {
		return v, false, nil
	}
	return v, err == nil && v.DeletedAt.IsZero(), err
}

// cleanFolder removes what is not needed in a folder.
func (c *Cleaner) cleanFolder(ctx context.Context, in video.Folder) error {
	o, err := loadOwner(ctx, c.store, in)
	if err != nil {
		return err
	}
	var keys []string
	for _, area := range objects.Areas {
		for info, err := range c.blobs.List(ctx, area.Prefix(in)) {
			if err != nil {
				return blob.ServiceError("list objects", err)
			}
			if !c.isNeeded(o, info.Key) {
				keys = append(keys, info.Key)
			}
		}
	}
	for batch := range slices.Chunk(keys, removalBatch) {
		if _, err := c.removeUnneeded(ctx, o, batch...); err != nil {
			return err
		}
	}
	return nil
}

// removeVideo removes every object of a deleted video, and then its row.
func (c *Cleaner) removeVideo(ctx context.Context, id video.ID) error {
	if err := c.removeObjects(ctx, id); err != nil {
		return err
	}
	return c.store.InTx(ctx, func(tx *store.Tx) error { return tx.RemoveVideo(ctx, id) })
}

// removeObjects removes every object of a deleted video.
func (c *Cleaner) removeObjects(ctx context.Context, id video.ID) error {
	if err := c.uploads.AbortParts(ctx, id); err != nil {
		return err
	}
	folders, err := c.foldersOf(ctx, id)
	if err != nil {
		return err
	}
	for _, in := range folders {
		for _, area := range objects.Areas {
			if _, err := blob.DeletePrefix(ctx, c.blobs, area.Prefix(in)); err != nil {
				return blob.ServiceError("remove "+string(area)+" objects", err)
			}
		}
	}
	c.hook.Reach(failpoint.ObjectsRemoved)
	return nil
}

// foldersOf returns where objects of a deleted video may lie. A folder that belongs to another video by now is not
// among them.
func (c *Cleaner) foldersOf(ctx context.Context, id video.ID) ([]video.Folder, error) {
	v, err := c.store.Video(ctx, id)
	if err != nil && video.KindOf(err) != video.NotFound {
		return nil, err
	}
	var all []video.Folder
	for _, in := range []video.Folder{video.Folder(id), v.ObjectsIn, v.BeforeIn} {
		if in == "" {
			continue
		}
		owner, err := c.store.OwnerOf(ctx, in)
		if err != nil && video.KindOf(err) != video.NotFound {
			return nil, err
		}
		if err != nil || owner == id {
			all = append(all, in)
		}
	}
	return all, nil
}

// removeUnneeded removes objects that their video does not need, and returns how many there were. A
// video may need them again: a resolution is added, and the next pass needs the source, has chunk
// files, or a rendition file of a name that there was before. So what is known about the owner is only
// good enough to keep an object; before one is removed, the owner is loaded again under its lock. While
// a backup runs, nothing is removed: its snapshot of the video may need what the video now does not.
func (c *Cleaner) removeUnneeded(ctx context.Context, o owner, keys ...string) (int, error) {
	keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return c.isNeeded(o, key) })
	if len(keys) == 0 {
		return 0, nil
	}
	if !o.exists { // it never comes back
		if held, err := c.removalsHeld(ctx); err != nil || held { // it may be of a file that a backup saw and that was replaced
			return 0, err
		}
		if err := pipeline.Remove(ctx, c.blobs, keys); err != nil {
			return 0, err
		}
		return len(keys), nil
	}
	if err := pipeline.CheckStorage(ctx, c.store, c.blobs); err != nil {
		return 0, err
	}
	removed := 0
	err := c.store.WithVideoLock(ctx, o.video.ID, func(tx *store.Tx) error {
		now, err := loadOwner(ctx, tx, o.folder)
		if err != nil {
			return err
		}
		still := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return c.isNeeded(now, key) })
		if runs, err := pipeline.RemovalsHeld(ctx, tx); err != nil || runs { // a later sweep removes them
			return err
		}
		if err := pipeline.RemoveLocked(ctx, tx, c.blobs, still); err != nil {
			return err
		}
		removed = len(still)
		if slices.Contains(still, objects.Upload(o.video.ID)) {
			return tx.CountUpload(ctx, o.video.ID, 0)
		}
		return nil
	})
	return removed, err
}

// removalsHeld reports whether a backup runs.
func (c *Cleaner) removalsHeld(ctx context.Context) (held bool, err error) {
	err = c.store.InTx(ctx, func(tx *store.Tx) error {
		held, err = pipeline.RemovalsHeld(ctx, tx)
		return err
	})
	return held, err
}

// RemoveReplaced removes the objects of files that were replaced a while ago.
func (c *Cleaner) RemoveReplaced(ctx context.Context) error {
	old, err := c.store.SelectVideos(ctx, `WHERE before_in IS NOT NULL AND before_until < $1 AND deleted_at IS NULL`, store.Millis(c.now()))
	for _, v := range old {
		err = errors.Join(err, c.removeReplaced(ctx, v))
	}
	return err
}

// removeReplaced forgets where the file before lies when nothing is left there. While a backup runs, that stays.
func (c *Cleaner) removeReplaced(ctx context.Context, v video.Video) error {
	if err := c.cleanFolder(ctx, v.BeforeIn); err != nil {
		return err
	}
	return c.store.WithVideoLock(ctx, v.ID, func(tx *store.Tx) error {
		held, err := pipeline.RemovalsHeld(ctx, tx)
		if err != nil || held {
			return err
		}
		_, err = tx.Exec(ctx, "forget the file before", `UPDATE video SET before_in = NULL, before_until = NULL WHERE id = $1 AND before_in = $2`, v.ID, v.BeforeIn)
		return err
	})
}

// ExpireUploads fails the videos whose upload was not completed in time, and removes what was uploaded.
// It returns how many there were.
func (c *Cleaner) ExpireUploads(ctx context.Context) (int, error) {
	f := video.Failf(video.UploadExpired, "No upload was completed before the upload URL expired.")
	count := 0
	for {
		before := c.now().Add(-c.config.AbandonedAfter)
		ids, err := c.store.AbandonedUploads(ctx, before, 100)
		if err != nil || len(ids) == 0 {
			return count, err
		}
		for _, id := range ids {
			expired, err := c.expireUpload(ctx, id, before, f)
			if expired {
				count++
			}
			if err != nil {
				return count, err
			}
		}
	}
}

// expireUpload reports false for an upload that was extended, completed, deleted, or expired by
// another process since it was listed.
func (c *Cleaner) expireUpload(ctx context.Context, id video.ID, before time.Time, f *video.Failure) (expired bool, err error) {
	err = c.store.InTx(ctx, func(tx *store.Tx) (err error) {
		expired, err = tx.ExpireUpload(ctx, id, before, f)
		return err
	})
	if err != nil || !expired {
		return false, err
	}
	c.finished(video.Fail, f)
	return true, c.uploads.Discard(ctx, id)
}

const (
	// failedBatch is how many videos are removed in one transaction.
	failedBatch = 100
	// failedBatches is how many batches one call removes. Other maintenance waits for it.
	failedBatches = 10
)

// RemoveFailedUploads removes videos that failed because of their upload, once clients had time to
// see that, and returns how many there were. Otherwise anybody who may create videos could fill the
// database for ever without uploading a single byte.
func (c *Cleaner) RemoveFailedUploads(ctx context.Context) (int, error) {
	count := 0
	for range failedBatches {
		now := c.now()
		ids, err := c.store.MarkFailedUploads(ctx, now.Add(-c.config.AbandonedAfter-c.config.keepFailed()), now, failedBatch)
		if err != nil || len(ids) == 0 {
			return count, err
		}
		// If something fails from here on, FinishDeletions removes the rest.
		for _, id := range ids {
			if err := c.removeObjects(ctx, id); err != nil {
				return count, err
			}
		}
		if err := c.removeRows(ctx, ids); err != nil {
			return count, err
		}
		count += len(ids)
	}
	return count, nil
}

func (c *Cleaner) removeRows(ctx context.Context, ids []video.ID) error {
	return c.store.InTx(ctx, func(tx *store.Tx) error {
		for _, id := range ids {
			if err := tx.RemoveVideo(ctx, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// FinishDeletions removes the rest of videos that are marked deleted. One that cannot be removed does
// not keep the others. After maxFailures of them the storage is taken to be unavailable; they are
// tried in random order, so that the next call gets to those that this one did not.
func (c *Cleaner) FinishDeletions(ctx context.Context) error {
	ids, err := c.store.MarkedDeleted(ctx)
	if err != nil {
		return err
	}
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	var failures []error
	for _, id := range ids {
		if err := c.removeVideo(ctx, id); err != nil {
			failures = append(failures, fmt.Errorf("delete video %s: %w", id, err))
		}
		if len(failures) == maxFailures || ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failures...)
}
