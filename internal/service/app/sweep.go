package app

import (
	"context"
	"errors"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

const (
	tidyEvery   = time.Minute      // expired uploads, rotated keys, deletions that were cut short
	rescueEvery = 10 * time.Minute // a look at every video at work
	sweepEvery  = time.Hour        // a look at every object
)

// Maintain keeps house until ctx ends: at once, because a crash may have left
// something behind, and then at set times.
func (a *App) Maintain(ctx context.Context) {
	tidy, rescue, sweep := time.NewTicker(tidyEvery), time.NewTicker(rescueEvery), time.NewTicker(sweepEvery)
	defer tidy.Stop()
	defer rescue.Stop()
	defer sweep.Stop()
	a.tidy(ctx)
	a.rescueAll(ctx)
	a.sweepAndLog(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tidy.C:
			a.tidy(ctx)
		case <-rescue.C:
			a.rescueAll(ctx)
		case <-sweep.C:
			a.sweepAndLog(ctx)
		}
	}
}

func (a *App) tidy(ctx context.Context) {
	if a.clock != nil {
		if err := a.clock.adjust(ctx); err != nil {
			a.log.WarnContext(ctx, "could not ask the database for the time", "err", err)
		}
	}
	if err := a.ring.load(ctx); err != nil {
		a.log.WarnContext(ctx, "could not load the signing keys", "err", err)
	}
	if n, err := a.ExpireUploads(ctx); err != nil {
		a.log.WarnContext(ctx, "could not expire abandoned uploads", "err", err)
	} else if n > 0 {
		a.log.InfoContext(ctx, "abandoned uploads expired", "videos", n)
	}
	if err := a.FinishDeletions(ctx); err != nil {
		a.log.WarnContext(ctx, "could not finish deletions that were cut short", "err", err)
	}
}

// MyTurn reports whether this process shall do a chore now that the whole fleet
// needs done once in a while.
func (a *App) MyTurn(ctx context.Context, chore string, every time.Duration) bool {
	mine, err := a.store.AcquireRunOnce(ctx, chore, every, a.now())
	if err != nil {
		a.log.WarnContext(ctx, "could not ask whose turn it is", "chore", chore, "err", err)
	}
	return mine
}

// FinishDeletions removes the rest of videos whose deletion was promised.
func (a *App) FinishDeletions(ctx context.Context) error {
	doomed, err := a.store.MarkedDeleted(ctx)
	if err != nil {
		return err
	}
	for _, id := range doomed {
		if err := a.removeAll(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

func (a *App) rescueAll(ctx context.Context) {
	if !a.MyTurn(ctx, "rescue", rescueEvery) {
		return
	}
	if _, err := a.Rescue(ctx); err != nil {
		a.log.WarnContext(ctx, "could not look after all videos at work", "err", err)
	}
}

func (a *App) sweepAndLog(ctx context.Context) {
	if !a.MyTurn(ctx, "sweep", sweepEvery) {
		return
	}
	if err := a.forgetPromises(ctx); err != nil {
		a.log.WarnContext(ctx, "could not forget old promises", "err", err)
	}
	if err := a.store.Leases().RemoveExpired(ctx); err != nil {
		a.log.WarnContext(ctx, "could not forget who held uploads", "err", err)
	}
	r, err := a.Sweep(ctx)
	if _, shared := errors.AsType[sharedError](err); shared {
		a.log.ErrorContext(ctx, "nothing is swept", "err", err)
	} else if err != nil {
		a.log.WarnContext(ctx, "sweep was cut short", "err", err)
	} else if r.Removed > 0 || r.Unknown > 0 {
		a.log.InfoContext(ctx, "sweep done", "objects", r.Objects, "removed", r.Removed, "unknown", r.Unknown)
	}
}

// ExpireUploads fails videos whose upload nobody completed and removes what was
// uploaded. It returns how many there were.
func (a *App) ExpireUploads(ctx context.Context) (int, error) {
	f := video.Failf(video.UploadExpired, "No upload was completed before the address expired.")
	count := 0
	for {
		ids, err := a.store.AbandonedUploads(ctx, a.now().Add(-a.cfg.AbandonedAfter), 100)
		if err != nil || len(ids) == 0 {
			return count, err
		}
		for _, id := range ids {
			if err := a.expire(ctx, id, f); err != nil {
				return count, err
			}
			count++
		}
	}
}

func (a *App) expire(ctx context.Context, id video.ID, f *video.Failure) error {
	var refused bool
	err := a.store.InTx(ctx, func(tx *store.Tx) (err error) {
		refused, err = tx.RefuseUpload(ctx, id, f)
		return err
	})
	if err != nil || !refused {
		return err // completed or deleted in the last moment
	}
	a.observe.VideoFinished(video.Fail, f)
	return a.DiscardUpload(ctx, id)
}

// SweepReport says what a sweep found.
type SweepReport struct {
	Objects int // looked at
	Removed int // that belonged to nobody
	Unknown int // whose key is not one of ours; left alone

	failures []error // of objects that could not be removed
}

// maxSweepFailures is how many objects a sweep fails to remove before it takes
// the storage to be in trouble. One alone, which somebody has locked, must not
// keep all that follow from being swept.
const maxSweepFailures = 10

// Sweep looks at every object and removes those without an owner: what a crash
// left between writing an object and recording it. It may run at any time; an
// object whose record is just being written is left to a later sweep. In a
// storage that other databases use, too, it removes nothing and fails.
func (a *App) Sweep(ctx context.Context) (SweepReport, error) {
	var r SweepReport
	if err := a.alone(ctx); err != nil {
		return r, err
	}
	for _, place := range places {
		if err := a.sweepPlace(ctx, place, &r); err != nil {
			return r, err
		}
	}
	return r, errors.Join(r.failures...)
}

func (a *App) sweepPlace(ctx context.Context, place string, r *SweepReport) error {
	var last owner // objects of one video come together
	for info, err := range a.blobs.List(ctx, place+"/") {
		if err != nil {
			return storageError("list objects", err)
		}
		r.Objects++
		_, id, _, ok := parseKey(info.Key)
		if !ok {
			r.Unknown++
			continue
		}
		if last.id != id {
			if last, err = ownerOf(ctx, a.store, id); err != nil {
				return err
			}
		}
		removed, err := a.removeUnowned(ctx, last, info.Key)
		if err != nil {
			r.failures = append(r.failures, err)
		}
		if len(r.failures) == maxSweepFailures {
			return errors.Join(r.failures...)
		}
		r.Removed += removed
	}
	return nil
}
