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
	name, err := decodeBody(a, c, true, func(body []byte) (video.Name, error) {
		name, faults, err := decodeResolution(body)
		if faults = slices.Concat(faultsIn(badID), faults); err == nil && len(faults) > 0 {
			err = video.InvalidFields(faults...)
		}
		return name, err
	})
	if err != nil {
		return nil, err
	}
	s, err := a.services.Catalog.AddResolution(ctx, c.actor, id, name)
	if err != nil {
		return nil, err
	}
	return &answer[videoStateView]{viewState(s)}, nil
}

func decodeResolution(body []byte) (video.Name, []video.Fault, error) {
	const field = "resolution"
	f, err := parseFields(body, field)
	if err != nil {
		return "", nil, err
	}
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
