package catalog

import (
	"context"
	"fmt"
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
		return c.edit(ctx, tx, by.Tenant, id, func(video.Video) (video.Edit, error) { return e, nil })
	})
	if err != nil {
		return State{}, err
	}
	return c.State(ctx, by, id)
}

// EditMany changes many videos in one transaction, or none of them, and returns their states in the order of the ids.
func (c *Catalog) EditMany(ctx context.Context, by auth.Actor, ids []video.ID, e video.ManyEdit) ([]State, error) {
	if err := by.Require(auth.Write, auth.Read); err != nil {
		return nil, err
	}
	if faults := slices.Concat(e.Check(), video.CheckExpiry(e.ExpiresAt, c.now())); faults != nil {
		return nil, video.InvalidFields(faults...)
	}
	if err := c.space(ctx); err != nil {
		return nil, err
	}
	err := c.store.InTx(ctx, func(tx *store.Tx) error {
		for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) { // in one order, so that none deadlock
			err := c.edit(ctx, tx, by.Tenant, id, e.Of)
			if video.KindOf(err) == video.NotFound {
				return &video.Error{Kind: video.NotFound, Code: "video_not_found", Msg: fmt.Sprintf("There is no video %s. Nothing was changed.", id)}
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all, err := c.States(ctx, ids)
	var states []State
	for _, id := range ids {
		if s, exists := all[id]; exists { // it may have been deleted since, or be listed before
			states = append(states, s)
			delete(all, id)
		}
	}
	return states, err
}

// edit changes a video of a tenant by what how returns for it.
func (c *Catalog) edit(ctx context.Context, tx *store.Tx, tenant video.Tenant, id video.ID, how func(video.Video) (video.Edit, error)) error {
	if err := tx.Lock(ctx, id); err != nil {
		return err
	}
	v, err := tx.Video(ctx, id)
	if err != nil {
		return err
	}
	if v.Tenant != tenant || v.Replaces != "" {
		return video.VideoNotFound()
	}
	e, err := how(v)
	if err != nil {
		return err
	}
	before := v
	v.Edit(e)
	if e.AllowedOrigins != nil || e.AllowNoOrigin != nil {
		if err := c.restrict(ctx, tx, before, v); err != nil {
			return err
		}
	}
	if err := describe(ctx, tx, v); err != nil {
		return err
	}
	if err := tx.Did(ctx, video.Act{Action: video.ActionVideoEdit, Video: id}); err != nil {
		return err
	}
	return tx.TellExpiringVideo(ctx, id, c.now().Add(video.ExpiryNotice))
}
