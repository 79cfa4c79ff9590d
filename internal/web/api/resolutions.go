package api

import (
	"context"
	"slices"

	"github.com/spool-video/spool/internal/video"
)

// newResolution describes the body of a request that adds one.
type newResolution struct {
	Resolution video.Name `json:"resolution" enum:"144p,240p,360p,480p,720p,1080p,1440p,4k,8k" doc:"The output to make beside those that the video has."`
}

func (a *API) addResolution(ctx context.Context, c *call, in *videoPath) (*answer[videoStateView], error) {
	id, badID := video.ParseID("id", in.ID)
	body, err := readBody(c, true)
	if err != nil {
		return nil, err
	}
	name, faults, err := decodeResolution(body)
	if err != nil {
		return nil, err
	}
	if faults = slices.Concat(faultsIn(badID), faults); len(faults) > 0 {
		return nil, video.InvalidFields(faults...)
	}
	s, err := a.service.AddResolution(ctx, c.actor, id, name)
	if err != nil {
		return nil, err
	}
	return &answer[videoStateView]{viewState(s)}, nil
}

func decodeResolution(body []byte) (video.Name, []video.Fault, error) {
	f, err := parseFields(body)
	if err != nil {
		return "", nil, err
	}
	const field = "resolution"
	var s string
	if faults := get(f, field, true, "must be a string", asString, &s); faults != nil {
		return "", faults, nil
	}
	return video.Name(s), video.CheckResolution(field, video.Name(s)), nil
}

func (a *API) retryResolution(ctx context.Context, c *call, in *resolutionPath) (*answer[videoStateView], error) {
	id, err := video.ParseID("id", in.ID)
	if err != nil {
		return nil, err
	}
	s, err := a.service.RetryResolution(ctx, c.actor, video.ResolutionID(id))
	if err != nil {
		return nil, err
	}
	return &answer[videoStateView]{viewState(s)}, nil
}

func (a *API) deleteResolution(ctx context.Context, c *call, in *resolutionPath) (*nothing, error) {
	id, err := video.ParseID("id", in.ID)
	if err != nil {
		return nil, err
	}
	return nil, a.service.DeleteResolution(ctx, c.actor, video.ResolutionID(id))
}
