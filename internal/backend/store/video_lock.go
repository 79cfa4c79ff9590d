package store

import (
	"context"

	"github.com/spool-video/spool/internal/video"
)

// WithVideoLock runs f in a transaction that holds the lock of a video. If the video is gone or
// marked deleted, f does not run: there is nothing left to do, which is no error. A NotFound error
// of f is treated in the same way.
func (s *Store) WithVideoLock(ctx context.Context, id video.ID, f func(*Tx) error) error {
	err := s.InTx(ctx, func(tx *Tx) error {
		if err := tx.Lock(ctx, id); err != nil {
			return err
		}
		return f(tx)
	})
	if video.KindOf(err) == video.NotFound {
		return nil
	}
	return err
}
