package pipeline

import (
	"context"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
)

// RemovalHold keeps the objects of videos that exist from being removed while a backup copies them: the rows
// that it has read may need what the videos now do not. It expires, so that a killed backup delays nothing for
// long.
type RemovalHold struct {
	store *store.Store
	id    string
}

// HoldRemovals takes a hold, which expires after ttl.
func HoldRemovals(ctx context.Context, s *store.Store, id string, ttl time.Duration) (RemovalHold, error) {
	return RemovalHold{s, id}, s.InTx(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(ctx, "remove dead holds", `DELETE FROM backup_hold WHERE ends_at <= `+tx.NowSQL()); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "hold removals", `
			INSERT INTO backup_hold (id, ends_at) VALUES ($1, `+tx.NowSQL()+` + $2)`, id, ttl.Milliseconds())
		return err
	})
}

// Renew prolongs the hold. It reports false if the hold has ended: what it kept may be gone, and nothing
// brings that back.
func (h RemovalHold) Renew(ctx context.Context, ttl time.Duration) (bool, error) {
	var n int64
	err := h.store.InTx(ctx, func(tx *store.Tx) (err error) {
		n, err = tx.Exec(ctx, "hold removals", `
			UPDATE backup_hold SET ends_at = `+tx.NowSQL()+` + $2 WHERE id = $1 AND ends_at > `+tx.NowSQL(), h.id, ttl.Milliseconds())
		return err
	})
	return n > 0, err
}

// Release ends the hold.
func (h RemovalHold) Release(ctx context.Context) error {
	return h.store.InTx(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, "release removals", `DELETE FROM backup_hold WHERE id = $1`, h.id)
		return err
	})
}

// RemovalsHeld reports whether a backup runs. It is asked just before objects of a video are removed, with the
// video locked: a backup that begins after the answer sees the video as it is now.
func RemovalsHeld(ctx context.Context, tx *store.Tx) (bool, error) {
	var n int
	err := tx.QueryRow(ctx, `SELECT count(*) FROM backup_hold WHERE ends_at > `+tx.NowSQL()).Scan(&n)
	return n > 0, store.Wrap("look for backups", err)
}
