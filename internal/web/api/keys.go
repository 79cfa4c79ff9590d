package api

import (
	"context"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/signin"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/video"
)

// keyRoutes are the operations on the keys of a tenant.
type keyRoutes struct {
	keys    *auth.Keys
	uploads *uploads.Service
	catalog *catalog.Catalog
	people  *signin.Service
}

func (r keyRoutes) register(t *table) {
	admin := []auth.Scope{auth.Admin}
	add(t, operation{
		id: "getKey", route: "GET /api/key", summary: "Get what your API key may do, and the keys of your tenant", tag: "tenant",
		status: 200, parameters: described(new(page).parameters("keys", "the newest keys")),
	}, r.get)
	addWithBody(t, operation{
		id: "createKey", route: "POST /api/key", summary: "Make an API key for your tenant", tag: "tenant",
		scopes: admin, status: 201, errors: []int{409, 413, 415},
	}, r.create)
	add(t, operation{
		id: "revokeKey", route: "DELETE /api/key/{id}", summary: "Revoke an API key of your tenant", tag: "tenant",
		scopes: admin, status: 200, errors: []int{404}, parameters: []*huma.Param{pathID("The id of the key.")},
	}, r.revoke)
}

// keyView is the key that makes the request. A page asks for it to offer only what the key may do.
type keyView struct {
	ID     string       `json:"id" doc:"As spool keys list shows it. Of somebody who is signed in: their e-mail address or, where the provider does not vouch for one, its id of the person."`
	Tenant video.Tenant `json:"tenant"`
	Scopes []auth.Scope `json:"scopes" nullable:"false" doc:"What the key may do." example:"[\"read\",\"write\"]"`
	// A page refuses a larger file before it creates a video for it.
	MaxFileBytes int64 `json:"maxFileBytes" doc:"The size of the largest file that the server accepts, as a resumable upload."`
	// A page, and the command line, ask for these unless a person chooses others.
	DefaultResolutions []resolutionName `json:"defaultResolutions" nullable:"false" doc:"The resolutions that an import gets whose request names none. Clients may ask for them where people choose none."`
	Profiles           []profileView    `json:"profiles,omitempty" nullable:"false" doc:"The profiles that createVideo takes, by name. Absent if there are none."`
	Session            *keySession      `json:"session,omitempty" doc:"The session that makes the request. Absent: it is made with a key."`
	// The rest is for keys that may manage others.
	Keys       []TenantKeyView `json:"keys,omitzero" required:"false" nullable:"false" doc:"The keys of the tenant that are not revoked, newest first, with the one that asks. Absent if that lacks the scope admin."`
	NextCursor string          `json:"nextCursor,omitempty" doc:"The cursor of the next page of keys; absent on the last one."`
}

// profileView is a ladder that the operator has prepared.
type profileView struct {
	Name        string           `json:"name" example:"course"`
	Resolutions []resolutionName `json:"resolutions" nullable:"false" doc:"What a video gets that names the profile and no resolutions, the largest first. Empty: the server's default."`
}

func viewProfiles(all []video.Profile) []profileView {
	var views []profileView
	for _, p := range all {
		views = append(views, profileView{p.Name, append([]resolutionName{}, convertAll[resolutionName](p.Names())...)})
	}
	return views
}

// TenantKeyView is a key of the tenant. It is exported because huma ignores embedded types that are not.
type TenantKeyView struct {
	ID        string       `json:"id"`
	Name      string       `json:"name"`
	Scopes    []auth.Scope `json:"scopes" nullable:"false"`
	CreatedAt time.Time    `json:"createdAt"`
	ExpiresAt *time.Time   `json:"expiresAt,omitempty" doc:"When it ends, or has ended. Absent: never."`
	Current   bool         `json:"current" doc:"It is the key that makes this request."`
	MadeBy    string       `json:"madeBy,omitempty" doc:"The id of the key, or the e-mail address of the person, that made it. Absent: the operator made it."`
}

type madeKey struct {
	TenantKeyView
	Secret string `json:"secret" doc:"The API key itself. It is told this once."`
}

// newKey is the body of a request that makes a key.
type newKey struct {
	Name      string       `json:"name" minLength:"1" maxLength:"100" doc:"What people call the key."`
	Scopes    []auth.Scope `json:"scopes,omitempty" minItems:"1" maxItems:"8" enum:"read,write,delete,admin" nullable:"true" doc:"What the key may do: only what yours may. Absent: all of that."`
	ExpiresIn int64        `json:"expiresIn,omitempty" minimum:"1" maximum:"315360000" nullable:"true" doc:"After how many seconds the key ends, at the latest with the key that makes it. Absent: then, or never."`
}

func (r keyRoutes) get(ctx context.Context, c *call) (*keyView, error) {
	session, err := r.sessionOf(ctx, c)
	if err != nil {
		return nil, err
	}
	out := &keyView{
		ID: c.actor.ID(), Session: session, Tenant: c.actor.Tenant, Scopes: append([]auth.Scope{}, c.actor.Scopes...),
		MaxFileBytes: r.uploads.LargestFile(), DefaultResolutions: convertAll[resolutionName](r.catalog.DefaultResolutions()), Profiles: viewProfiles(r.catalog.Profiles()),
	}
	if !slices.Contains(c.actor.Scopes, auth.Admin) {
		return out, nil
	}
	p := newPage()
	if err := c.query(p.parameters("keys", "the newest keys")); err != nil {
		return nil, err
	}
	found, err := r.keys.ListOwn(ctx, c.actor, p.after, p.limit)
	if err != nil {
		return nil, err
	}
	out.Keys, out.NextCursor = make([]TenantKeyView, len(found.Keys)), nextCursor(found.Next)
	for i, k := range found.Keys {
		out.Keys[i] = viewKey(k, c.actor)
	}
	return out, nil
}

func viewKey(k auth.Key, by auth.Actor) TenantKeyView {
	v := TenantKeyView{ID: k.ID, Name: k.Name, Scopes: append([]auth.Scope{}, k.Scopes...), CreatedAt: k.CreatedAt.UTC(), Current: k.ID == by.KeyID, MadeBy: k.MadeBy}
	if !k.ExpiresAt.IsZero() {
		v.ExpiresAt = new(k.ExpiresAt.UTC())
	}
	return v
}

func (r keyRoutes) create(ctx context.Context, c *call, in *newKey) (*madeKey, error) {
	draft := auth.KeyDraft{Name: in.Name, Scopes: in.Scopes, Life: time.Duration(in.ExpiresIn) * time.Second}
	secret, key, err := r.keys.CreateOwn(ctx, c.actor, draft)
	if err != nil {
		return nil, err
	}
	return &madeKey{viewKey(key, c.actor), secret}, nil
}

func (r keyRoutes) revoke(ctx context.Context, c *call) (*nothing, error) {
	return nil, r.keys.RevokeOwn(ctx, c.actor, string(c.id))
}
