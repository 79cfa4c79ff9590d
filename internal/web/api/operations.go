package api

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

// Inputs and outputs of the operations, as huma requires them.
type (
	nothing   struct{}
	videoPath struct {
		ID string `path:"id" format:"uuid" doc:"The id of the video."`
	}
	privatePath struct {
		ID                string   `path:"id" format:"uuid" doc:"The id of the video."`
		ExpirationSeconds lifetime `path:"expirationSeconds" doc:"How long the signed URLs stay valid: 1 to 31536000 seconds." example:"3600"`
	}
	resolutionPath struct {
		ID string `path:"id" format:"uuid" doc:"The id of the resolution, not of the video."`
	}
	answer[T any] struct{ Body T }
)

// registerOperations is the route table.
func (a *API) registerOperations(h huma.API) {
	r := h.OpenAPI().Components.Schemas
	read, write, remove := []auth.Scope{auth.Read}, []auth.Scope{auth.Write}, []auth.Scope{auth.Delete}
	change := []auth.Scope{auth.Write, auth.Read} // the response shows the state of the video
	register(h, createOperation(r), write, a.createVideo)
	register(h, listOperation(r), read, a.listVideos)
	register(h, withToken(operation(r, "getVideo", "GET /api/video/{id}", 200, "Get the state of a video", nil, 404)), read, byVideo(a.videoState))
	register(h, withToken(eventsOperation(r)), read, byVideo(a.videoEvents))
	register(h, tokenOperation(r), read, a.createToken)
	register(h, operation(r, "completeUpload", "POST /api/video/{id}/complete-upload", 201, "Complete a video upload",
		requestBody[completion](r, false), 404, 413, 415, 422, 507), write, byVideo(a.completeUpload))
	register(h, operation(r, "retryImport", "POST /api/video/{id}/import", 200, "Fetch the file of a video again", nil, 404, 409), change, byVideo(a.retryImport))
	register(h, operation(r, "getPublicVideo", "GET /api/video/{id}/public", 200, "Get a public video", nil, 404), read, byVideo(a.publicVideo))
	register(h, operation(r, "getPrivateVideo", "GET /api/video/{id}/private/{expirationSeconds}", 200, "Get a private video", nil, 404), read, a.privateVideo)
	register(h, operation(r, "getReport", "GET /api/video/{id}/report", 200, "Get the report on a video", nil, 404), read, byVideo(a.report))
	register(h, operation(r, "deleteVideo", "DELETE /api/video/{id}", 200, "Delete a video", nil, 404), remove, byVideo(a.deleteVideo))
	register(h, operation(r, "editVideo", "PATCH /api/video/{id}", 200, "Change the title or the metadata of a video",
		requestBody[videoEdit](r, true), 404, 413, 415, 507), change, a.editVideo)
	register(h, operation(r, "addResolution", "POST /api/video/{id}/resolutions", 201, "Add a resolution to a video",
		requestBody[newResolution](r, true), 404, 409, 413, 415), change, a.addResolution)
	register(h, operation(r, "retryResolution", "POST /api/video/resolution/{id}/retry", 200, "Try a failed resolution again, or the failed variants of a ready one", nil, 404, 409), change, byResolution(a.retryResolution))
	register(h, operation(r, "deleteResolution", "DELETE /api/video/resolution/{id}", 200, "Delete a video resolution", nil, 404), remove, byResolution(a.deleteResolution))
	register(h, putCaptionsOperation(r), write, a.putCaptions)
	register(h, operation(r, "deleteCaptions", "DELETE /api/video/{id}/captions/{language}", 200, "Delete the captions of a language", nil, 404), write, a.deleteCaptions)
	register(h, usageOperation(r), read, a.usage)
	register(h, tenantsOperation(r), []auth.Scope{auth.Admin}, a.tenants)
	register(h, systemOperation(r), []auth.Scope{auth.Admin}, a.system)
	a.registerWebhooks(h)
	a.registerKeys(h)
}

// byVideo parses the ID of the path for a handler.
func byVideo[O any](handle func(context.Context, *call, video.ID) (*O, error)) func(context.Context, *call, *videoPath) (*O, error) {
	return func(ctx context.Context, c *call, in *videoPath) (*O, error) {
		id, err := video.ParseID("id", in.ID)
		if err != nil {
			return nil, err
		}
		return handle(ctx, c, id)
	}
}

// byResolution is byVideo for the ID of a resolution.
func byResolution[O any](handle func(context.Context, *call, video.ResolutionID) (*O, error)) func(context.Context, *call, *resolutionPath) (*O, error) {
	return func(ctx context.Context, c *call, in *resolutionPath) (*O, error) {
		id, err := video.ParseID("id", in.ID)
		if err != nil {
			return nil, err
		}
		return handle(ctx, c, video.ResolutionID(id))
	}
}

// headerRepeated says that an earlier request created the video.
const headerRepeated = "Idempotency-Replayed"

func createOperation(r huma.Registry) huma.Operation {
	op := operation(r, "createVideo", "POST /api/video", 201, "Create a video upload", requestBody[newVideo](r, true), 409, 413, 415, 507)
	op.Parameters = []*huma.Param{{Name: video.KeyHeader, In: "header", Schema: &huma.Schema{Type: huma.TypeString, MaxLength: new(video.MaxKey)},
		Description: "A key of your choice for this request. The same request with the same key within 24 hours returns the same video."}}
	return op
}

func (a *API) createVideo(ctx context.Context, c *call, _ *nothing) (*answer[upload], error) {
	draft, err := decodeBody(a, c, true, func(body []byte) (video.Draft, error) {
		return decodeDraft(body, c.request.Header.Get(video.KeyHeader))
	})
	if err != nil {
		return nil, err
	}
	base, err := a.config.base(c.request)
	if err != nil {
		return nil, err
	}
	u, err := a.services.Catalog.Create(ctx, c.actor, draft, base)
	if err != nil {
		return nil, err
	}
	if u.Repeated {
		c.writer.Header().Set(headerRepeated, "true")
	}
	return &answer[upload]{viewUpload(u)}, nil
}

func (a *API) completeUpload(ctx context.Context, c *call, id video.ID) (*answer[completedUpload], error) {
	if _, err := decodeBody(a, c, false, checkCompletion); err != nil {
		return nil, err
	}
	v, err := a.services.Uploads.Complete(ctx, c.actor, id)
	if err != nil {
		return nil, err
	}
	return &answer[completedUpload]{completedUpload{ID: v.ID, IsPublic: v.IsPublic, Resolutions: viewStatuses(v.Resolutions)}}, nil
}

func (a *API) retryImport(ctx context.Context, c *call, id video.ID) (*answer[videoStateView], error) {
	s, err := a.services.Catalog.RetryImport(ctx, c.actor, id)
	if err != nil {
		return nil, err
	}
	return &answer[videoStateView]{viewState(s)}, nil
}

func (a *API) publicVideo(ctx context.Context, c *call, id video.ID) (*answer[videoView], error) {
	base, err := a.config.base(c.request)
	if err != nil {
		return nil, err
	}
	w, err := a.services.Catalog.Public(ctx, c.actor, id, base)
	if err != nil {
		return nil, err
	}
	return &answer[videoView]{viewPlayback(w)}, nil
}

func (a *API) privateVideo(ctx context.Context, c *call, in *privatePath) (*answer[videoView], error) {
	id, ttl, err := parsePrivate(in)
	if err != nil {
		return nil, err
	}
	base, err := a.config.base(c.request)
	if err != nil {
		return nil, err
	}
	w, err := a.services.Catalog.Private(ctx, c.actor, id, ttl, base)
	if err != nil {
		return nil, err
	}
	return &answer[videoView]{viewPlayback(w)}, nil
}

// parsePrivate parses both parameters, so that faults of both are reported.
func parsePrivate(in *privatePath) (video.ID, time.Duration, error) {
	id, err := video.ParseID("id", in.ID)
	ttl, faults := parseExpiration(string(in.ExpirationSeconds))
	if faults = slices.Concat(faultsIn(err), faults); len(faults) > 0 {
		return "", 0, video.InvalidFields(faults...)
	}
	return id, ttl, nil
}

// faultsIn returns the faults of an Invalid error.
func faultsIn(err error) []video.Fault {
	if e, ok := errors.AsType[*video.Error](err); ok {
		return e.Faults
	}
	return nil
}

func (a *API) deleteVideo(ctx context.Context, c *call, id video.ID) (*nothing, error) {
	return nil, a.services.Deleter.DeleteVideo(ctx, c.actor, id)
}
