package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/web/problem"
)

// headerKey is the header of the API key.
const headerKey = "X-API-KEY"

// call is one authenticated request. huma passes only a context to operations, so the
// context carries it.
type call struct {
	actor   auth.Actor
	request *http.Request
	writer  http.ResponseWriter
}

type callKey struct{}

// authenticated passes requests with a valid key to the routes. It is in front of all of
// them, including unknown paths: without a key, nothing can be learned about what
// exists.
func (a *API) authenticated(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	r.Pattern = "/api/" // access log and metrics read the route from the outer request
	actor, err := a.services.Keys.Authenticate(r.Context(), r.Header.Get(headerKey))
	if err == nil {
		err = a.limit.allow(actor.KeyID)
	}
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	c := &call{actor: actor, request: r, writer: w}
	inner := r.Clone(context.WithValue(r.Context(), callKey{}, c))
	inner.Header.Del("Accept") // there is only one format, and huma would reject some values
	defer func() { r.Pattern = inner.Pattern }()
	a.routes.ServeHTTP(w, inner)
}

// register adds an operation that needs these scopes. Its handler gets the call, and its errors
// become problems. Scopes are checked first, so a key that lacks one costs the server nothing more.
// A request body is only described: huma would read and check a body that it knows of,
// but the handlers do that themselves.
func register[I, O any](h huma.API, op huma.Operation, needs []auth.Scope, handle func(context.Context, *call, *I) (*O, error)) {
	body := op.RequestBody
	op.RequestBody = nil
	huma.Register(h, op, func(ctx context.Context, in *I) (*O, error) {
		c := ctx.Value(callKey{}).(*call) // every route is behind authenticated
		if err := c.actor.Require(needs...); err != nil {
			return nil, problem.Of(c.request, err)
		}
		out, err := handle(ctx, c, in)
		if err != nil {
			return nil, problem.Of(c.request, err)
		}
		return out, nil
	})
	if body != nil {
		h.OpenAPI().Paths[op.Path].Post.RequestBody = body
	}
}
