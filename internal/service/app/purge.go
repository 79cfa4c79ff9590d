package app

import (
	"context"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// The purges of a video have names of their own: one that a deletion asks for
// must not be skipped because the one after the work is just running.
const (
	afterWork      = 0
	afterDeletion  = 1
	afterMeasuring = 2
)

// retire stops the work on a video and has its left-overs removed.
func (a *App) retire(ctx context.Context, tx *store.Tx, id video.ID, why int) error {
	if err := a.queue.Cancel(ctx, tx, id, queue.Purge); err != nil {
		return err
	}
	if err := tx.DropSteps(ctx, id); err != nil {
		return err
	}
	return a.enqueuePurge(ctx, tx, id, why)
}

// enqueuePurge leaves the tenant empty: clearing up is a tenant of its own, so
// that it neither waits for anybody's thousand films nor takes their turns.
func (a *App) enqueuePurge(ctx context.Context, tx *store.Tx, id video.ID, why int) error {
	return a.queue.Enqueue(ctx, tx, queue.Task{Kind: queue.Purge, Video: id, Number: why, Priority: purgePriority})
}

// Purge removes the objects that a video has no more use for: its pieces when it
// is finished, the files of a resolution that was deleted, everything when the
// video itself was.
func (a *App) Purge(ctx context.Context, id video.ID) error {
	// A task that is just ending may still write; wait for it, but not for ever:
	// what it leaves then is the sweep's. Measuring writes no object.
	quiet, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := a.queue.WaitIdle(quiet, id, queue.Purge, queue.Measure); err != nil && ctx.Err() != nil {
		return err
	}
	o, err := ownerOf(ctx, a.store, id)
	if err != nil {
		return err
	}
	if !o.exists {
		return a.removeAll(ctx, id)
	}
	var keys []string
	for _, place := range places {
		for info, err := range a.blobs.List(ctx, folder(place, id)) {
			if err != nil {
				return storageError("list objects", err)
			}
			if !a.owns(o, info.Key) {
				keys = append(keys, info.Key)
			}
		}
	}
	for batch := range slices.Chunk(keys, removalBatch) {
		if _, err := a.removeUnowned(ctx, o, batch...); err != nil {
			return err
		}
	}
	return nil
}

// removeAll removes every object of a deleted video, and then its row.
func (a *App) removeAll(ctx context.Context, id video.ID) error {
	if err := a.abortParts(ctx, id); err != nil {
		return err
	}
	for _, place := range places {
		if _, err := blob.DeletePrefix(ctx, a.blobs, folder(place, id)); err != nil {
			return storageError("remove "+place+" objects", err)
		}
	}
	a.reached(ObjectsRemoved)
	return a.store.InTx(ctx, func(tx *store.Tx) error { return tx.RemoveVideo(ctx, id) })
}

func (a *App) removeWork(ctx context.Context, id video.ID) error {
	_, err := blob.DeletePrefix(ctx, a.blobs, folder(workPlace, id))
	return err
}

const (
	// removalBatch is how many objects are removed under one lock.
	removalBatch = 100
	// removalHold is how long a video stays locked for a storage that does not
	// remove what it should.
	removalHold = 10 * time.Second
)

// removeUnowned removes objects that their video has no use for, and returns how
// many there were. What a video has no use for may get one again: a resolution is
// added, and the next round needs the source, has pieces, or a film of a name that
// there was before. So what is known about the owner is only good enough to keep an
// object; before one is removed, the owner is looked at again under its lock.
func (a *App) removeUnowned(ctx context.Context, o owner, keys ...string) (int, error) {
	keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return a.owns(o, key) })
	if len(keys) == 0 {
		return 0, nil
	}
	if !o.exists { // it never comes back
		if err := a.removeKeys(ctx, keys); err != nil {
			return 0, err
		}
		return len(keys), nil
	}
	removed := 0
	err := a.ifWanted(ctx, o.id, func(tx *store.Tx) error {
		now, err := ownerOf(ctx, tx, o.id)
		if err != nil {
			return err
		}
		still := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return a.owns(now, key) })
		if err := a.removeWhile(ctx, tx, still); err != nil {
			return err
		}
		removed = len(still)
		return nil
	})
	return removed, err
}

// removeWhile removes objects of a video that tx has locked.
func (a *App) removeWhile(ctx context.Context, tx *store.Tx, keys []string) error {
	ctx, cancel := context.WithTimeout(ctx, removalHold)
	defer cancel()
	return tx.KeepAliveWhile(ctx, func(ctx context.Context) error { return a.removeKeys(ctx, keys) })
}

func (a *App) removeKeys(ctx context.Context, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	if err := a.blobs.Delete(ctx, keys...); err != nil {
		return storageError("remove objects", err)
	}
	return nil
}

// owner is what the database says about a video that objects belong to.
type owner struct {
	id        video.ID
	exists    bool
	video     video.Video
	working   bool // some step of its plan is still open
	measuring bool // its films are still to be compared with the source
}

// rows are what the database has, seen from a transaction or from outside.
type rows interface {
	Video(context.Context, video.ID) (video.Video, error)
	Steps(context.Context, video.ID) ([]store.Step, error)
}

func ownerOf(ctx context.Context, db rows, id video.ID) (owner, error) {
	o := owner{id: id}
	v, err := db.Video(ctx, id)
	if err != nil {
		if video.KindOf(err) == video.NotFound {
			err = nil
		}
		return o, err
	}
	o.video, o.exists = v, v.DeletedAt.IsZero()
	steps, err := db.Steps(ctx, id)
	for _, s := range steps {
		measure := s.Kind == string(queue.Measure)
		o.measuring = o.measuring || measure && !s.Done
		o.working = o.working || !measure && !s.Done
	}
	return o, err
}

// owns reports whether an object still has a use for its owner. It is the one
// rule about what is kept: purges and sweeps remove the rest.
func (a *App) owns(o owner, key string) bool {
	if !o.exists {
		return false
	}
	place, _, rest, _ := parseKey(key)
	v := o.video
	working := v.Status == video.Processing || o.working
	open := v.CompletedAt.IsZero() && a.now().Before(v.UploadExpiresAt.Add(a.cfg.AbandonedAfter))
	switch place {
	case uploadPlace:
		return open
	case sourcePlace:
		// While the upload is open, a copy may belong to a complete-upload under way.
		return open || key == v.Source.Key && (working || o.measuring || a.cfg.KeepSource)
	case workPlace:
		return working
	}
	name, thumbnail, ok := parsePlayFile(rest)
	r, has := v.Resolution(name)
	return ok && has && r.Status != video.Fail && thumbnail < len(v.Thumbnails) && playPlace(v) == place
}
