package janitor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/system"
)

// SweepReport says what a sweep found.
type SweepReport struct {
	Objects int // examined
	Removed int // no longer needed
	Unknown int // whose key is not one of ours; left alone

	// Stored is what is left in each area that was examined to its end.
	Stored []system.Stored

	failures []error // of objects that could not be removed
}

// maxFailures is how many objects a sweep, or videos a pass of deletions, fails to remove before the
// storage is taken to be unavailable. A single object, which somebody has locked, must not keep all
// that follow from being removed.
const maxFailures = 10

// Sweep examines every object and removes those that are not needed: what a crash left between writing
// an object and recording it. It may run at any time; an object whose record is just being written is
// left to a later sweep. In a storage that other databases use, too, it removes nothing and fails.
func (c *Cleaner) Sweep(ctx context.Context) (SweepReport, error) {
	var r SweepReport
	if err := c.marker.checkExclusive(ctx); err != nil {
		return r, err
	}
	for _, area := range objects.Areas {
		if err := c.sweepArea(ctx, area, &r); err != nil {
			return r, err
		}
	}
	return r, errors.Join(r.failures...)
}

// SweepUploads does the same to uploaded files alone. A URL that the storage has signed accepts a file
// for as long as it lives, also when its video is deleted or its upload completed, and the storage
// does not report it. There are few uploaded files at any time, so they can be examined often. It does
// nothing where all uploads pass through this service, which refuses such files.
func (c *Cleaner) SweepUploads(ctx context.Context) (SweepReport, error) {
	var r SweepReport
	if c.blobs.Capabilities().Presign == nil {
		return r, nil
	}
	if err := c.marker.checkExclusive(ctx); err != nil {
		return r, err
	}
	if err := c.sweepArea(ctx, objects.Uploads, &r); err != nil {
		return r, err
	}
	return r, errors.Join(r.failures...)
}

// Count counts what the storage holds, and removes nothing.
func (c *Cleaner) Count(ctx context.Context) ([]system.Stored, error) {
	var all []system.Stored
	for _, area := range objects.Areas {
		one := system.Stored{Area: string(area)}
		for info, err := range c.blobs.List(ctx, area.Root()) {
			if err != nil {
				return all, blob.ServiceError("list objects", err)
			}
			one.Objects, one.Bytes = one.Objects+1, one.Bytes+info.Size
		}
		one.CountedAt = c.now()
		all = append(all, one)
	}
	return all, nil
}

// finishedTasks is how many tasks the living workers have finished. Whatever changes the storage for long is a
// task: converting, cleaning up.
func (c *Cleaner) finishedTasks(ctx context.Context) (int64, error) {
	workers, err := c.queue.Workers(ctx)
	var n int64
	for _, w := range workers {
		n += w.Done
	}
	return n, err
}

func (c *Cleaner) sweepArea(ctx context.Context, area objects.Area, r *SweepReport) error {
	var last owner // objects of one folder come together
	left := system.Stored{Area: string(area)}
	for info, err := range c.blobs.List(ctx, area.Root()) {
		if err != nil {
			return blob.ServiceError("list objects", err)
		}
		r.Objects++
		_, in, _, ok := objects.Parse(info.Key)
		if !ok {
			r.Unknown++
			left.Objects, left.Bytes = left.Objects+1, left.Bytes+info.Size
			continue
		}
		if last.folder != in {
			if last, err = loadOwner(ctx, c.store, in); err != nil {
				return err
			}
		}
		removed, err := c.removeUnneeded(ctx, last, info.Key)
		if err != nil {
			r.failures = append(r.failures, err)
		}
		if len(r.failures) == maxFailures {
			return errors.Join(r.failures...)
		}
		r.Removed += removed
		if removed == 0 {
			left.Objects, left.Bytes = left.Objects+1, left.Bytes+info.Size
		}
	}
	left.CountedAt = c.now()
	r.Stored = append(r.Stored, left)
	return nil
}

// staleWrite is the age at which an unfinished multipart write surely belongs to a dead process: a
// living one would have to write one object for that long.
const staleWrite = 48 * time.Hour

// AbortUnfinished aborts multipart writes that will never be completed. Their parts cost money and are
// not visible: they belong to uploads that may not be continued, or were left by killed processes. It
// returns how many writes were aborted.
func (c *Cleaner) AbortUnfinished(ctx context.Context) (int, error) {
	shared := c.marker.checkExclusive(ctx) // then an unknown upload may belong to another database
	if _, is := errors.AsType[sharedError](shared); shared != nil && !is {
		return 0, shared
	}
	n, err := c.blobs.AbortUnfinished(ctx, "", func(key string, begun time.Time) (bool, error) {
		area, in, _, ok := objects.Parse(key)
		if !ok || area != objects.Uploads {
			return c.now().Sub(begun) > staleWrite, nil
		}
		if shared != nil {
			return false, nil
		}
		o, err := loadOwner(ctx, c.store, in)
		return err == nil && !c.isNeeded(o, key), err
	})
	if err != nil {
		return n, fmt.Errorf("abort unfinished writes: %w", err)
	}
	return n, nil
}
