package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/app"
	"github.com/spool-video/spool/internal/web/problem"
)

// headerKey carries the API key.
const headerKey = "X-API-KEY"

// call is one request with a valid key. huma hands its operations a context
// only, so the call travels in there.
type call struct {
	actor   app.Actor
	request *http.Request
	writer  http.ResponseWriter
}

type callKey struct{}

// authenticated lets requests with a valid key through to the routes. It stands
// in front of all of them, unknown paths included: without a key nothing can be
// learnt about what is there.
func (a *API) authenticated(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	r.Pattern = "/api/" // whoever logs and counts requests reads the route off the outer request
	actor, err := a.service.Authenticate(r.Context(), r.Header.Get(headerKey))
	if err == nil {
		err = a.limit.allow(actor.KeyID)
	}
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	c := &call{actor: actor, request: r, writer: w}
	inner := r.Clone(context.WithValue(r.Context(), callKey{}, c))
	inner.Header.Del("Accept") // there is one format only, and huma would take "json" for the name of another
	defer func() { r.Pattern = inner.Pattern }()
	a.routes.ServeHTTP(w, inner)
}

// register adds an operation whose handler is told who calls, and whose errors
// become problems. A request body is described only: huma would read and check a
// body that it knows of, and the handlers do that themselves.
func register[I, O any](h huma.API, op huma.Operation, handle func(context.Context, *call, *I) (*O, error)) {
	body := op.RequestBody
	op.RequestBody = nil
	huma.Register(h, op, func(ctx context.Context, in *I) (*O, error) {
		c := ctx.Value(callKey{}).(*call) // no route is reached but through authenticated
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
