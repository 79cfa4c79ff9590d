package api

import (
	"bytes"
	"context"
	"encoding/base64"
	"unicode/utf8"

	"github.com/spool-video/spool/internal/service/audience"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/tenants"
	"github.com/spool-video/spool/internal/video"
)

// tenantRoutes are the operations on tenants and what they use.
type tenantRoutes struct {
	tenants  *tenants.Service
	audience *audience.Service
}

func (r tenantRoutes) register(t *table) {
	add(t, operation{
		id: "getUsage", route: "GET /api/usage", summary: "Get what your tenant uses, and its limits", tag: "tenant",
		scopes: []auth.Scope{auth.Read}, status: 200,
	}, r.usage)
	add(t, operation{
		id: "listTenants", route: "GET /api/tenant", summary: "List the tenants, what they use, and their limits; for keys of the operator's tenant", tag: "tenant",
		scopes: []auth.Scope{auth.Admin}, status: 200, costly: true, parameters: described(new(tenantPage).parameters()),
	}, r.list)
}

// UsageView is what a tenant uses. It is exported because huma ignores embedded types that are not.
type UsageView struct {
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

// ownUsage is what the tenant of a key uses.
type ownUsage struct {
	UsageView
	BytesSent int64 `json:"bytesSent" doc:"Bytes of videos that Spool itself has sent since the month began, UTC. What a bucket or a CDN sends is not counted."`
}

func (r tenantRoutes) usage(ctx context.Context, c *call) (*ownUsage, error) {
	u, err := r.tenants.Usage(ctx, c.actor)
	if err != nil {
		return nil, err
	}
	sent, err := r.audience.BytesThisMonth(ctx, c.actor)
	if err != nil {
		return nil, err
	}
	return &ownUsage{viewUsage(u), sent}, nil
}

func viewUsage(u video.Usage) UsageView {
	l := u.Limits
	return UsageView{
		Videos: u.Videos, Bytes: u.Bytes, MinutesToday: u.MinutesToday(), InWork: u.InWork,
		Limits: limitsView{MaxVideos: l.Videos, MaxBytes: l.Bytes, MaxMinutesPerDay: l.MinutesPerDay, MaxInWork: l.InWork},
	}
}

// tenantView is a tenant and what it uses.
type tenantView struct {
	Name video.Tenant `json:"name"`
	UsageView
}

type tenantList struct {
	Tenants    []tenantView `json:"tenants" nullable:"false" doc:"By name."`
	NextCursor string       `json:"nextCursor,omitempty" doc:"The cursor of the next page; absent on the last one."`
}

// tenantPage is a page of a list of tenants.
type tenantPage struct {
	limit int
	after video.Tenant
}

func (p *tenantPage) parameters() []parameter {
	return []parameter{
		limitParameter(&p.limit, "tenants"),
		cursorParameter("from the first name on", func(s string) []video.Fault {
			name, faults := parseNameCursor(s, auth.MaxTenant)
			p.after = video.Tenant(name)
			return faults
		}),
	}
}

func (r tenantRoutes) list(ctx context.Context, c *call) (*tenantList, error) {
	p := tenantPage{limit: video.DefaultPage}
	if err := c.query(p.parameters()); err != nil {
		return nil, err
	}
	found, err := r.tenants.Page(ctx, c.actor, p.after, p.limit)
	if err != nil {
		return nil, err
	}
	out := &tenantList{Tenants: make([]tenantView, len(found.Tenants))}
	for i, t := range found.Tenants {
		out.Tenants[i] = tenantView{t.Name, viewUsage(t.Usage)}
	}
	if found.Next != "" {
		out.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(found.Next))
	}
	return out, nil
}

// parseNameCursor decodes the cursor of a list in the order of names, which is the last name before the page. A name
// has at most so many bytes.
func parseNameCursor(s string, most int) (string, []video.Fault) {
	name, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(name) == 0 || len(name) > most || !utf8.Valid(name) || bytes.IndexByte(name, 0) >= 0 {
		return "", []video.Fault{{Field: "cursor", Code: "invalid_cursor", Message: "must be the nextCursor of an earlier answer"}}
	}
	return string(name), nil
}
