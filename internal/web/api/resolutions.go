package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/janitor"
	"github.com/spool-video/spool/internal/video"
)

// resolutionRoutes are the operations on the resolutions of a video.
type resolutionRoutes struct {
	catalog *catalog.Catalog
	deleter *janitor.Deleter
}

func (r resolutionRoutes) register(t *table) {
	change := []auth.Scope{auth.Write, auth.Read} // the answer shows the state of the video
	id := pathID("The id of the resolution, not of the video.")
	addWithBody(t, operation{
		id: "addResolution", route: "POST /api/video/{id}/resolutions", summary: "Add a resolution to a video", tag: "video",
		scopes: change, status: 201, errors: []int{404, 409, 413, 415}, parameters: []*huma.Param{videoID()},
	}, r.add)
	add(t, operation{
		id: "retryResolution", route: "POST /api/video/resolution/{id}/retry", summary: "Try a failed resolution again, or the failed variants of a ready one", tag: "video",
		scopes: change, status: 200, errors: []int{404, 409}, parameters: []*huma.Param{id},
	}, r.retry)
	add(t, operation{
		id: "deleteResolution", route: "DELETE /api/video/resolution/{id}", summary: "Delete a video resolution", tag: "video",
		scopes: []auth.Scope{auth.Delete}, status: 200, errors: []int{404}, parameters: []*huma.Param{id},
	}, r.delete)
}

// newResolution is the body of a request that adds a resolution.
type newResolution struct {
	Resolution resolutionName `json:"resolution" doc:"The output to add to the video."`
}

func (n *newResolution) check() []video.Fault {
	return video.CheckResolution("resolution", video.Name(n.Resolution))
}

func (r resolutionRoutes) add(ctx context.Context, c *call, in *newResolution) (*videoStateView, error) {
	return answerState(r.catalog.AddResolution(ctx, c.actor, c.id, video.Name(in.Resolution)))
}

func (r resolutionRoutes) retry(ctx context.Context, c *call) (*videoStateView, error) {
	return answerState(r.catalog.RetryResolution(ctx, c.actor, video.ResolutionID(c.id)))
}

func (r resolutionRoutes) delete(ctx context.Context, c *call) (*nothing, error) {
	return nil, r.deleter.DeleteResolution(ctx, c.actor, video.ResolutionID(c.id))
}
