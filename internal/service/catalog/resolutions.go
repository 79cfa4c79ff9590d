package catalog

import (
	"context"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

// AddResolution has one more resolution of a video made, and returns the state of the video. The
// actor must be allowed to read that before anything changes.
func (c *Catalog) AddResolution(ctx context.Context, by auth.Actor, id video.ID, name video.Name) (State, error) {
	if err := by.Require(auth.Write, auth.Read); err != nil {
		return State{}, err
	}
	if err := c.passes.AddResolution(ctx, by, id, name); err != nil {
		return State{}, err
	}
	return c.State(ctx, by, id)
}

// RetryResolution has a failed resolution made again, and returns the state of its video. It
// needs the same scopes as AddResolution.
func (c *Catalog) RetryResolution(ctx context.Context, by auth.Actor, id video.ResolutionID) (State, error) {
	if err := by.Require(auth.Write, auth.Read); err != nil {
		return State{}, err
	}
	vid, err := c.passes.RetryResolution(ctx, by, id)
	if err != nil {
		return State{}, err
	}
	return c.State(ctx, by, vid)
}
