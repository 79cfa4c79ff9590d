package api

import (
	"context"
	"slices"

	"github.com/spool-video/spool/internal/video"
)

// newResolution describes the body of a request that adds a resolution.
type newResolution struct {
	Resolution resolutionName `json:"resolution" doc:"The output to add to the video."`
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
	s, err := a.services.Catalog.AddResolution(ctx, c.actor, id, name)
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
	if faults := decodeField(f, field, true, "must be a string", asString, &s); faults != nil {
		return "", faults, nil
	}
	return video.Name(s), video.CheckResolution(field, video.Name(s)), nil
}

func (a *API) retryResolution(ctx context.Context, c *call, id video.ResolutionID) (*answer[videoStateView], error) {
	s, err := a.services.Catalog.RetryResolution(ctx, c.actor, id)
	if err != nil {
		return nil, err
	}
	return &answer[videoStateView]{viewState(s)}, nil
}

func (a *API) deleteResolution(ctx context.Context, c *call, id video.ResolutionID) (*nothing, error) {
	return nil, a.services.Deleter.DeleteResolution(ctx, c.actor, id)
}
