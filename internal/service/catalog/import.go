package catalog

import (
	"context"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

// RetryImport has the file of a video fetched again that could not be fetched, and returns the video.
func (c *Catalog) RetryImport(ctx context.Context, by auth.Actor, id video.ID) (State, error) {
	if err := by.Require(auth.Write, auth.Read); err != nil {
		return State{}, err
	}
	if err := c.imports.Retry(ctx, by, id); err != nil {
		return State{}, err
	}
	return c.State(ctx, by, id)
}
