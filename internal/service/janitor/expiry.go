package janitor

import (
	"context"
	"errors"
	"fmt"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/video"
)

// expiryBatch is how many videos are told of in one transaction, and how many are deleted before others are looked
// for.
const expiryBatch = 100

// TellExpiring tells the webhooks of all videos that expire soon, and returns how many there were.
func (d *Deleter) TellExpiring(ctx context.Context) (told int, err error) {
	for {
		n := 0
		err := d.cleaner.store.InTx(ctx, func(tx *store.Tx) (err error) {
			n, err = tx.TellExpiring(ctx, d.cleaner.now().Add(video.ExpiryNotice), expiryBatch)
			return err
		})
		if err != nil {
			return told, err
		}
		if told += n; n < expiryBatch {
			return told, nil
		}
	}
}

// DeleteExpired deletes the videos that have expired, and returns how many there were. All of a batch are marked
// deleted before the first file is removed, and a file that cannot be removed is left to FinishDeletions: the other
// videos do not wait for it.
func (d *Deleter) DeleteExpired(ctx context.Context) (deleted int, err error) {
	var failures []error
	for {
		ids, err := d.cleaner.store.ExpiredVideos(ctx, d.cleaner.now(), expiryBatch)
		if err != nil || len(ids) == 0 {
			return deleted, errors.Join(append(failures, err)...)
		}
		var mine []video.ID
		for _, id := range ids {
			expired, err := d.markExpired(ctx, id)
			if err != nil {
				return deleted, errors.Join(append(failures, err)...)
			}
			if expired {
				mine = append(mine, id)
			}
		}
		for _, id := range mine {
			d.cleaner.hook.Reach(failpoint.VideoDeleted)
			if err := d.cleaner.removeVideo(ctx, id); err != nil {
				failures = append(failures, fmt.Errorf("delete video %s: %w", id, err))
			}
			deleted++
		}
	}
}

// markExpired reports false for a video that another process has deleted, or that expires later now.
func (d *Deleter) markExpired(ctx context.Context, id video.ID) (expired bool, err error) {
	err = d.mark(ctx, id, func(tx *store.Tx) (bool, error) {
		v, err := tx.Video(ctx, id)
		now := d.cleaner.now()
		expired = err == nil && !v.ExpiresAt.IsZero() && !v.ExpiresAt.After(now)
		return expired, err
	}, video.Expired)
	if video.KindOf(err) == video.NotFound {
		return false, nil
	}
	return expired, err
}
