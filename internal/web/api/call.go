package api

import (
	"context"
	"net/http"

	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/service/audit"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

// headerKey is the header of the API key.
const headerKey = "X-API-KEY"

// call is one authenticated request.
type call struct {
	api         *API
	actor       auth.Actor
	token       string // that the actor holds instead of a key, or ""
	request     *http.Request
	writer      http.ResponseWriter
	id          video.ID // of the path, which may be of something else than a video
	status      int      // of the answer, unless it is a problem
	encoded     []byte   // the answer, if it was encoded before; nil: not yet
	contentType string   // of what was encoded before; "": JSON
	turn        *limit.Turn
}

// base returns the base of the URLs in the answer.
func (c *call) base() (string, error) { return c.api.config.base(c.request) }

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
		a.dropCookie(w, r, err)
		problem.Write(w, r, err)
		return
	}
	ctx, turn := a.config.Limits.Begin(r.Context(), c.principal())
	defer turn.End()
	c.turn = turn
	ctx = audit.By(ctx, c.actor, limit.AddressOf(r, a.config.TrustedProxies))
	inner := r.WithContext(context.WithValue(ctx, callKey{}, c))
	defer func() { r.Pattern = inner.Pattern }()
	a.routes.ServeHTTP(w, inner)
}

// principal is who the limits of a request are kept for. The holders of tokens are people without a key.
func (c *call) principal() limit.Principal {
	if c.token != "" {
		return limit.Principal{Client: c.api.Client(c.request)}
	}
	return limit.Principal{Tenant: c.actor.Tenant}
}

// authenticate returns who makes a request, and says in h how many more requests are allowed. The key is looked
// up first, so that others who send invalid keys from the same address never affect a client with a valid one.
func (a *API) authenticate(r *http.Request, h http.Header) (auth.Actor, error) {
	given, cost := a.credentialOf(r), a.limit.cost(r)
	// A flood of a key that is over its limit should cost no query for each request.
	over := a.limit.rejection(given.secret)
	if over != nil {
		if err := a.limit.allow(over.by, cost, h); err != nil {
			over.slowDown(r.Context())
			return auth.Actor{}, err
		}
	}
	actor, err := a.actorOf(r, given)
	if err == nil {
		if over != nil {
			return actor, nil // it is counted already
		}
		return actor, a.limitOf(r.Context(), actor, given.secret, cost, h)
	}
	if given.secret == "" {
		return actor, err // a request without a key is not an attempt to guess one
	}
	return actor, a.countFailure(r, err)
}

// limitOf returns an error if a tenant has exceeded its limit. The log names the key, since refused requests are not logged.
func (a *API) limitOf(ctx context.Context, by auth.Actor, secret string, cost int, h http.Header) error {
	principal := limit.Principal{Tenant: by.Tenant}
	err := a.limit.allow(principal, cost, h)
	if err != nil && a.limit.reject(secret, principal) {
		a.config.Log.WarnContext(ctx, "a tenant makes more requests than rate_limit allows", "by", by.ID(), "tenant", by.Tenant)
	}
	return err
}
