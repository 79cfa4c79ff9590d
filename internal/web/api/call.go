package api

import (
	"context"
	"net/http"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

// headerKey is the header of the API key.
const headerKey = "X-API-KEY"

// call is one authenticated request.
type call struct {
	api     *API
	actor   auth.Actor
	token   string // that the actor holds instead of a key, or ""
	request *http.Request
	writer  http.ResponseWriter
	id      video.ID // of the path, which may be of something else than a video
	status  int      // of the answer, unless it is a problem
	release func()   // of the slot that it holds; nil: none
}

// base returns the base of the URLs in the answer.
func (c *call) base() (string, error) { return c.api.config.base(c.request) }

// holdSlot keeps a slot until the response is encoded. A client that reads slowly does not keep it.
func (c *call) holdSlot(release func()) { c.release = release }

// releaseSlot releases the slot, if there is one.
func (c *call) releaseSlot() {
	if c.release != nil {
		c.release()
		c.release = nil
	}
}

type callKey struct{}

// authenticated passes requests with a valid key to the routes. It is in front of all of
// them, including unknown paths: without a key, nothing can be learned about what
// exists.
func (a *API) authenticated(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	r.Pattern = "/api/" // access log and metrics read the route from the outer request
	c := &call{api: a, request: r, writer: w}
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
	inner := r.WithContext(context.WithValue(r.Context(), callKey{}, c))
	defer func() { r.Pattern = inner.Pattern }()
	defer c.releaseSlot()
	a.routes.ServeHTTP(w, inner)
}

// authenticate returns who makes a request, and says in h how many more requests are allowed. The key is looked
// up first, so that others who send invalid keys from the same address never affect a client with a valid one.
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
		return actor, err // a request without a key is not an attempt to guess one
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
