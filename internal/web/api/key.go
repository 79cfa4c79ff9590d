package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

// keyView is the key that makes the request. A page asks for it to offer only what the key may do.
type keyView struct {
	ID     string       `json:"id" doc:"As spool keys list shows it."`
	Tenant video.Tenant `json:"tenant"`
	Scopes []auth.Scope `json:"scopes" nullable:"false" doc:"What the key may do." example:"[\"read\",\"write\"]"`
	// The rest is for keys that may manage others.
	Keys       []tenantKeyView `json:"keys,omitzero" required:"false" nullable:"false" doc:"The keys of the tenant that are not revoked, newest first, with the one that asks. Absent if that lacks the scope admin."`
	NextCursor string          `json:"nextCursor,omitempty" doc:"The cursor of the next page of keys; absent on the last one."`
}

// TenantKeyBasics is common to all views of a key of the tenant.
type TenantKeyBasics struct {
	ID        string       `json:"id"`
	Name      string       `json:"name"`
	Scopes    []auth.Scope `json:"scopes" nullable:"false"`
	CreatedAt time.Time    `json:"createdAt"`
	ExpiresAt *time.Time   `json:"expiresAt,omitempty" doc:"When it ends, or has ended. Absent: never."`
	Current   bool         `json:"current" doc:"It is the key that makes this request."`
	MadeBy    string       `json:"madeBy,omitempty" doc:"The id of the key that made it. Absent: the operator made it."`
}

type tenantKeyView struct{ TenantKeyBasics }

type madeKey struct {
	TenantKeyBasics
	Secret string `json:"secret" doc:"The API key itself. It is told this once."`
}

// newKey describes the body of a request that makes a key.
type newKey struct {
	Name      string       `json:"name" minLength:"1" maxLength:"100" doc:"What people call the key."`
	Scopes    []auth.Scope `json:"scopes,omitempty" minItems:"1" maxItems:"8" enum:"read,write,delete,admin" nullable:"true" doc:"What the key may do: only what yours may. Absent: all of that."`
	ExpiresIn int64        `json:"expiresIn,omitempty" minimum:"1" maximum:"315360000" nullable:"true" doc:"After how many seconds the key ends, at the latest with the key that makes it. Absent: then, or never."`
}

type keyPath struct {
	ID string `path:"id" format:"uuid" doc:"The id of the key."`
}

// registerKeys is the part of the route table for keys.
func (a *API) registerKeys(h huma.API) {
	r, admin := h.OpenAPI().Components.Schemas, []auth.Scope{auth.Admin}
	op := func(id, route string, status int, summary string, body *huma.RequestBody, also ...int) huma.Operation {
		o := operation(r, id, route, status, summary, body, also...)
		o.Tags = []string{"tenant"}
		return o
	}
	get := op("getKey", "GET /api/key", 200, "Get what your API key may do, and the keys of your tenant", nil)
	get.Parameters = pageParameters("keys", "the newest keys")
	register(h, get, nil, a.key)
	register(h, op("createKey", "POST /api/key", 201, "Make an API key for your tenant", requestBody[newKey](r, true), 409, 413, 415), admin, a.createKey)
	register(h, op("revokeKey", "DELETE /api/key/{id}", 200, "Revoke an API key of your tenant", nil, 404), admin, a.revokeKey)
}

// pageParameters describes a list that has no other parameters.
func pageParameters(things, first string) []*huma.Param {
	least, most := 1.0, float64(video.MaxPage)
	return []*huma.Param{
		{Name: "limit", In: "query", Description: "How many " + things + " at most.",
			Schema: &huma.Schema{Type: huma.TypeInteger, Minimum: &least, Maximum: &most, Default: video.DefaultPage}},
		{Name: "cursor", In: "query", Description: "The nextCursor of the page before; absent: " + first + ".", Schema: &huma.Schema{Type: huma.TypeString}},
	}
}

func (a *API) key(ctx context.Context, c *call, _ *nothing) (*answer[keyView], error) {
	out := keyView{ID: c.actor.KeyID, Tenant: c.actor.Tenant, Scopes: append([]auth.Scope{}, c.actor.Scopes...)}
	if !slices.Contains(c.actor.Scopes, auth.Admin) {
		return &answer[keyView]{out}, nil
	}
	q, err := decodePage(c.request, (*listQuery).decodeCursor)
	if err != nil {
		return nil, err
	}
	page, err := a.services.Keys.ListOwn(ctx, c.actor, q.after, q.limit)
	if err != nil {
		return nil, err
	}
	out.Keys = make([]tenantKeyView, len(page.Keys))
	for i, k := range page.Keys {
		out.Keys[i] = tenantKeyView{viewKey(k, c.actor)}
	}
	if page.Next != (video.Cursor{}) {
		out.NextCursor = page.Next.String()
	}
	return &answer[keyView]{out}, nil
}

// decodePage decodes the query of a list that has no other parameters.
func decodePage(r *http.Request, cursor func(*listQuery, string) []video.Fault) (listQuery, error) {
	q := listQuery{limit: video.DefaultPage}
	err := decodeQuery(r, func(values url.Values) []video.Fault {
		return slices.Concat(
			decodeParameter(values, "limit", q.decodeLimit),
			decodeParameter(values, "cursor", func(s string) []video.Fault { return cursor(&q, s) }),
		)
	})
	if err != nil {
		return listQuery{}, err
	}
	return q, nil
}

func viewKey(k auth.Key, by auth.Actor) TenantKeyBasics {
	v := TenantKeyBasics{ID: k.ID, Name: k.Name, Scopes: append([]auth.Scope{}, k.Scopes...), CreatedAt: k.CreatedAt.UTC(), Current: k.ID == by.KeyID, MadeBy: k.MadeBy}
	if !k.ExpiresAt.IsZero() {
		v.ExpiresAt = new(k.ExpiresAt.UTC())
	}
	return v
}

func (a *API) createKey(ctx context.Context, c *call, _ *nothing) (*answer[madeKey], error) {
	draft, err := decodeBody(a, c, true, decodeKey)
	if err != nil {
		return nil, err
	}
	secret, key, err := a.services.Keys.CreateOwn(ctx, c.actor, draft)
	if err != nil {
		return nil, err
	}
	return &answer[madeKey]{madeKey{viewKey(key, c.actor), secret}}, nil
}

func (a *API) revokeKey(ctx context.Context, c *call, in *keyPath) (*nothing, error) {
	id, err := video.ParseID("id", in.ID)
	if err != nil {
		return nil, err
	}
	return nil, a.services.Keys.RevokeOwn(ctx, c.actor, string(id))
}

func decodeKey(body []byte) (d auth.KeyDraft, err error) {
	f, err := parseFields(body, "name", "scopes", "expiresIn")
	if err != nil {
		return d, err
	}
	var scopes json.RawMessage
	faults := slices.Concat(
		decodeField(f, "name", true, "must be a string", asString, &d.Name),
		decodeField(f, "scopes", false, "must be an array of strings", asArray, &scopes),
		decodeKeyLife(f, &d.Life),
	)
	if scopes != nil {
		names, wrong := decodeItems(scopes, "scopes", 2*len(auth.Scopes), "must be a string", asString)
		faults = append(faults, wrong...)
		d.Scopes = make([]auth.Scope, len(names))
		for i, n := range names {
			d.Scopes[i] = auth.Scope(strings.Clone(n))
		}
	}
	if len(faults) > 0 {
		return d, invalidFields(faults)
	}
	d.Name = strings.Clone(d.Name)
	return d, nil
}

func decodeKeyLife(f fields, into *time.Duration) []video.Fault {
	const field, must = "expiresIn", "must be a whole number"
	raw := f[field]
	if raw == nil || isNull(raw) {
		return nil
	}
	var seconds int
	if faults := decodeField(f, field, false, must, asWhole, &seconds); faults != nil {
		return faults
	}
	if most := int(auth.MaxKeyLife / time.Second); seconds < 1 || seconds > most {
		return []video.Fault{{Field: field, Code: "out_of_range", Message: fmt.Sprintf("%s from 1 to %d", must, most)}}
	}
	*into = time.Duration(seconds) * time.Second
	return nil
}
