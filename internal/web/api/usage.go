package api

import (
	"bytes"
	"context"
	"encoding/base64"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

// usageView is what the tenant of a key uses.
type usageView struct{ TenantUsage }

// TenantUsage is common to all views of what a tenant uses.
type TenantUsage struct {
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
	return &answer[usageView]{usageView{viewUsage(u)}}, nil
}

func viewUsage(u video.Usage) TenantUsage {
	l := u.Limits
	return TenantUsage{
		Videos: u.Videos, Bytes: u.Bytes, MinutesToday: u.MinutesToday(), InWork: u.InWork,
		Limits: limitsView{MaxVideos: l.Videos, MaxBytes: l.Bytes, MaxMinutesPerDay: l.MinutesPerDay, MaxInWork: l.InWork},
	}
}

// tenantView is a tenant and what it uses.
type tenantView struct {
	Name video.Tenant `json:"name"`
	TenantUsage
}

type tenantList struct {
	Tenants    []tenantView `json:"tenants" nullable:"false" doc:"By name."`
	NextCursor string       `json:"nextCursor,omitempty" doc:"The cursor of the next page; absent on the last one."`
}

func tenantsOperation(r huma.Registry) huma.Operation {
	op := operation(r, "listTenants", "GET /api/tenant", 200, "List the tenants, what they use, and their limits; for keys of the operator's tenant", nil)
	op.Tags = []string{"tenant"}
	op.Parameters = pageParameters("tenants", "from the first name on")
	return op
}

func (a *API) tenants(ctx context.Context, c *call, _ *nothing) (*answer[tenantList], error) {
	var after video.Tenant
	q, err := decodePage(c.request, func(_ *listQuery, s string) (faults []video.Fault) {
		after, faults = parseTenantCursor(s)
		return faults
	})
	if err != nil {
		return nil, err
	}
	page, err := a.services.Tenants.Page(ctx, c.actor, after, q.limit)
	if err != nil {
		return nil, err
	}
	out := tenantList{Tenants: make([]tenantView, len(page.Tenants))}
	for i, t := range page.Tenants {
		out.Tenants[i] = tenantView{t.Name, viewUsage(t.Usage)}
	}
	if page.Next != "" {
		out.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(page.Next))
	}
	return &answer[tenantList]{out}, nil
}

// parseTenantCursor decodes the cursor of a list of tenants, which is the last name before the page.
func parseTenantCursor(s string) (video.Tenant, []video.Fault) {
	name, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(name) == 0 || len(name) > auth.MaxTenant || !utf8.Valid(name) || bytes.IndexByte(name, 0) >= 0 {
		return "", []video.Fault{{Field: "cursor", Code: "invalid_cursor", Message: "must be the nextCursor of an earlier answer"}}
	}
	return video.Tenant(name), nil
}
