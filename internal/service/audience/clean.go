package audience

import (
	"context"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
)

const (
	day = 24 * time.Hour
	// cleanEvery is how often what is old is removed.
	cleanEvery = 20 * time.Minute
	// lateness is how long after midnight what was counted on the day before is written.
	lateness = time.Hour
)

// clean removes sums that are older than their time, and who watched before today. One process does it at a time, in small
// steps: between two of them others may write.
func (s *Service) clean(ctx context.Context) error {
	now := s.now()
	mine, err := s.store.AcquireRunOnce(ctx, "clean audience", cleanEvery-time.Minute, now)
	if err != nil || !mine {
		return err
	}
	keep := now.Truncate(day).AddDate(0, 0, -s.config.Days)
	for _, step := range []func(*store.Tx) (bool, error){
		func(tx *store.Tx) (bool, error) { return removePeople(ctx, tx, dayOf(now.Add(-lateness))) },
		func(tx *store.Tx) (bool, error) { return removeOld(ctx, tx, ofVideos, keep) },
		func(tx *store.Tx) (bool, error) { return removeOld(ctx, tx, ofTenants, keep) },
	} {
		for more := true; more; {
			err := s.store.InTx(ctx, func(tx *store.Tx) (err error) {
				more, err = step(tx)
				return err
			})
			if err != nil {
				return err
			}
			if err := pause(ctx, 20*time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// RemoveOldest removes the oldest sums of videos from before a time, as many as one step of the cleaning up does. It reports
// whether there may be more.
func RemoveOldest(ctx context.Context, tx *store.Tx, before time.Time) (more bool, err error) {
	return removeOld(ctx, tx, ofVideos, before)
}
