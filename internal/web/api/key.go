package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

// keyView is the key that makes the request. A page asks for it to offer only what the key may do.
type keyView struct {
	ID     string       `json:"id" doc:"As spool keys list shows it."`
	Tenant video.Tenant `json:"tenant"`
	Scopes []auth.Scope `json:"scopes" nullable:"false" doc:"What the key may do." example:"[\"read\",\"write\"]"`
}

func keyOperation(r huma.Registry) huma.Operation {
	op := operation(r, "getKey", "GET /api/key", 200, "Get what your API key may do", nil)
	op.Tags = []string{"tenant"}
	return op
}

func (a *API) key(_ context.Context, c *call, _ *nothing) (*answer[keyView], error) {
	return &answer[keyView]{keyView{ID: c.actor.KeyID, Tenant: c.actor.Tenant, Scopes: append([]auth.Scope{}, c.actor.Scopes...)}}, nil
}
