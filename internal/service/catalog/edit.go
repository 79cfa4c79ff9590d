package catalog

import (
	"context"
	"slices"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

// Edit changes what the client of a video says about it, and returns its state. The actor must be allowed
// to read that before anything changes.
func (c *Catalog) Edit(ctx context.Context, by auth.Actor, id video.ID, e video.Edit) (State, error) {
	if err := by.Require(auth.Write, auth.Read); err != nil {
		return State{}, err
	}
	if faults := slices.Concat(e.Check(), video.CheckExpiry(e.ExpiresAt, c.now())); faults != nil {
		return State{}, video.InvalidFields(faults...)
	}
	if e.Metadata != nil {
		compact, err := compactMetadata(*e.Metadata)
		if err != nil {
			return State{}, err
		}
		e.Metadata = &compact
	}
	if _, err := auth.VisibleVideo(ctx, c.store, by, auth.Write, id); err != nil {
		return State{}, err
	}
	// What a video says of itself grows, too.
	if err := c.space(ctx); err != nil {
		return State{}, err
	}
	err := c.store.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, id); err != nil {
			return err
		}
		v, err := tx.Video(ctx, id)
		if err != nil {
			return err
		}
		v.Edit(e)
		if err := describe(ctx, tx, v); err != nil {
			return err
		}
		return tx.TellExpiringVideo(ctx, id, c.now().Add(video.ExpiryNotice))
	})
	if err != nil {
		return State{}, err
	}
	return c.State(ctx, by, id)
}
