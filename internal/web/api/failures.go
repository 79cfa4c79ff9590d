package api

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/video"
)

const (
	failureBurst = 100 // failures of a client that may come at once
	failureRate  = 1   // failures per second after that
)

// countFailure counts a credential that was invalid. It returns err, or another error if the client
// has sent too many of them.
func (a *API) countFailure(r *http.Request, err error) error {
	if video.KindOf(err) != video.Unauthenticated {
		return err
	}
	client := a.Client(r)
	if a.failures.Allow(client, 1) {
		return err
	}
	a.warnings.Do(func() {
		a.config.Log.WarnContext(r.Context(), "somebody sends many invalid API keys", "client", client.String())
	})
	return &video.Error{Kind: video.RateLimited, Code: "rate_limited",
		Msg: "Too many requests with an invalid API key came from this address.", RetryAfter: time.Second / failureRate}
}

// Client returns the network of the client that made r.
func (a *API) Client(r *http.Request) netip.Prefix { return limit.ClientOf(r, a.config.TrustedProxies) }
