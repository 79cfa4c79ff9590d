// Package api is the JSON API below /api/: it decodes requests, calls the service and
// encodes the responses. The OpenAPI description at /openapi.json is generated from the
// types that are sent; package handbook shows it at /docs.
//
// There is deliberately no CORS below /api/ for API keys: they do not belong in pages of
// other origins. The console has the same origin. The holder of a token for one video may
// come from any origin; see token.go. People who are signed in have a cookie instead of a
// key, and then requests of other origins are refused; see cookie.go.
package api

import (
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/spool-video/spool/internal/limit"
)

// Config holds the settings.
type Config struct {
	// BaseURL is the base of the URLs in responses. Empty: derived from each request.
	BaseURL string
	// TrustedProxies are the peers whose X-Forwarded-For header names the client, and, if
	// BaseURL is empty, whose Forwarded and X-Forwarded-… headers name the host.
	TrustedProxies []netip.Prefix
	// RateLimit is how many requests per second each tenant may make; 0: no limit.
	RateLimit float64
	// CheapReads lets a read of one video count as a twentieth of a request.
	CheapReads bool
	// Limits are what the process shares out between tenants; nil: limits of its own.
	Limits *limit.Limits
	// Log gets errors of event streams, at the debug level, and a warning if a client sends
	// many invalid keys; nil: no log.
	Log *slog.Logger
}

// API serves the JSON API.
type API struct {
	services Services
	config   Config
	limit    *limiter
	failures *limit.Rates[netip.Prefix]
	plays    *plays
	embeds   *embeds
	routes   http.Handler           // everything below /api/, for authenticated requests
	spec     func() ([]byte, error) // openapi.json

	origins     *http.CrossOriginProtection // of requests with a session
	subscribers *subscribers
	warnings    rate.Sometimes // about invalid keys
}

// New returns the API of the services.
func New(services Services, config Config) *API {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.Limits == nil {
		config.Limits = limit.New(0)
	}
	a := &API{
		services: services, config: config, limit: newLimiter(config.RateLimit, config.CheapReads, time.Now),
		failures: limit.NewRates[netip.Prefix](failureRate, failureBurst, time.Now), warnings: rate.Sometimes{Interval: time.Minute},
		origins: newOrigins(config.BaseURL),
	}
	a.subscribers = newSubscribers(services.Catalog.States, a.services.valid, config.Log)
	a.subscribers.tokens = services.Tokens
	a.plays = newPlays(services.Audience, a.Client)
	a.embeds = newEmbeds(services, &a.config)
	t := newTable()
	for _, g := range a.groups() {
		g.register(t)
	}
	a.routes = t.handler()
	nameEnums(t.doc)
	a.spec = sync.OnceValues(func() ([]byte, error) { return writeSpec(t.doc) }) // when somebody asks: few do
	return a
}

// InFrontOf serves everything below /api but the reports of players, and passes the rest to next. It must not be
// behind a mux: that would answer requests for unclean paths, such as /api//video,
// without authentication.
//
// The reads of players are at the paths of pages, with a suffix, which no pattern of a mux can tell apart.
func (a *API) InFrontOf(next http.Handler) http.Handler {
	embedded := a.embeds.handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if (r.URL.Path == "/api" || strings.HasPrefix(r.URL.Path, "/api/")) && !strings.HasPrefix(r.URL.Path, playPath) {
			a.authenticated(w, r)
			return
		}
		if strings.HasPrefix(r.URL.Path, embedPath) && strings.HasSuffix(r.URL.Path, embedSuffix) {
			embedded.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Register adds what needs no key to mux: the OpenAPI description, and what players tell.
func (a *API) Register(mux *http.ServeMux) {
	a.plays.Register(mux)
	mux.HandleFunc("GET /openapi.json", a.serveSpec)
}
