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
	token   string // that the actor holds instead of a key, or ""
	request *http.Request
	writer  http.ResponseWriter
	release func() // of the slot that it holds; nil: none
}

// holdSlot keeps a slot until the response is encoded. A client that reads slowly does not keep it.
func (c *call) holdSlot(release func()) { c.release = release }

// releaseSlot releases the slot, if there is one.
func (c *call) releaseSlot() {
	if c.release != nil {
		c.release()
		c.release = nil
	}
}

// encodedWriter is told of the response when it is encoded: huma writes a body at once.
type encodedWriter struct {
	http.ResponseWriter
	call *call
}

// Unwrap lets http.ResponseController reach the writer below.
func (w encodedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w encodedWriter) Write(b []byte) (int, error) {
	w.call.releaseSlot()
	return w.ResponseWriter.Write(b)
}

type callKey struct{}

// authenticated passes requests with a valid key to the routes. It is in front of all of
// them, including unknown paths: without a key, nothing can be learned about what
// exists.
func (a *API) authenticated(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	r.Pattern = "/api/" // access log and metrics read the route from the outer request
	c := &call{request: r, writer: w}
	var err error
	if video, token, ok := tokenIn(r); ok {
		if allowTokenOrigins(w, r) {
			return
		}
		c.token = token
		c.actor, err = a.authenticateToken(r, w.Header(), video, token)
	} else {
		c.actor, err = a.authenticate(r, w.Header())
	}
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	inner := r.Clone(context.WithValue(r.Context(), callKey{}, c))
	inner.Header.Del("Accept") // there is only one format, and huma would reject some values
	defer func() { r.Pattern = inner.Pattern }()
	defer c.releaseSlot()
	a.routes.ServeHTTP(encodedWriter{w, c}, inner)
}

// authenticate returns who makes a request, and says in h how many more of them may come. The key is looked up first, so that others who send
// invalid keys from the same address never affect a client with a valid one.
func (a *API) authenticate(r *http.Request, h http.Header) (auth.Actor, error) {
	secret, cost := r.Header.Get(headerKey), a.limit.cost(r)
	// A flood of a key that is over its limit should cost no query for each request.
	over := a.limit.rejection(secret)
	if over != nil {
		if err := a.limit.allow(over.key, cost, h); err != nil {
			over.slowDown(r.Context())
			return auth.Actor{}, err
		}
	}
	actor, err := a.services.Keys.Authenticate(r.Context(), secret)
	if err == nil {
		if over != nil {
			return actor, nil // it is counted already
		}
		return actor, a.limitOf(r.Context(), actor, secret, cost, h)
	}
	if secret == "" {
		return actor, err // nobody guesses a key
	}
	return actor, a.countFailure(r, err)
}

// limitOf returns an error if a key has exceeded its limit. The log names the key, since refused requests are not logged.
func (a *API) limitOf(ctx context.Context, by auth.Actor, secret string, cost int, h http.Header) error {
	err := a.limit.allow(by.KeyID, cost, h)
	if err != nil && a.limit.reject(secret, by.KeyID) {
		a.config.Log.WarnContext(ctx, "an API key makes more requests than rate_limit allows", "key", by.KeyID, "tenant", by.Tenant)
	}
	return err
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
		described(h.OpenAPI().Paths[op.Path], op.Method).RequestBody = body
	}
}

// described returns what the description says of a method of a path.
func described(p *huma.PathItem, method string) *huma.Operation {
	switch method {
	case http.MethodPatch:
		return p.Patch
	case http.MethodPut:
		return p.Put
	}
	return p.Post
}
