package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"
)

// usageView is what the tenant of a key uses.
type usageView struct {
	Videos       int64      `json:"videos" doc:"Videos that exist. One whose upload failed or expired does not count."`
	Bytes        int64      `json:"bytes" doc:"Size of the files uploaded for these videos, without what was made of them."`
	MinutesToday float64    `json:"minutesToday" doc:"Minutes of video that were accepted today (UTC)."`
	InWork       int64      `json:"inWork" doc:"Videos that are processing."`
	Limits       limitsView `json:"limits"`
}

// limitsView is what the tenant of a key may use.
type limitsView struct {
	MaxVideos        int64   `json:"maxVideos" doc:"0: no limit."`
	MaxBytes         int64   `json:"maxBytes" doc:"0: no limit."`
	MaxMinutesPerDay float64 `json:"maxMinutesPerDay" doc:"0: no limit."`
	MaxInWork        int64   `json:"maxInWork" doc:"0: no limit."`
}

func usageOperation(r huma.Registry) huma.Operation {
	op := operation(r, "getUsage", "GET /api/usage", 200, "Get what your tenant uses, and its limits", nil)
	op.Tags = []string{"tenant"}
	return op
}

func (a *API) usage(ctx context.Context, c *call, _ *nothing) (*answer[usageView], error) {
	u, err := a.services.Tenants.Usage(ctx, c.actor)
	if err != nil {
		return nil, err
	}
	l := u.Limits
	return &answer[usageView]{usageView{
		Videos: u.Videos, Bytes: u.Bytes, MinutesToday: u.MinutesToday(), InWork: u.InWork,
		Limits: limitsView{MaxVideos: l.Videos, MaxBytes: l.Bytes, MaxMinutesPerDay: l.MinutesPerDay, MaxInWork: l.InWork},
	}}, nil
}
