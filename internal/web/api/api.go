// Package api is the JSON API below /api/: it decodes requests, calls the service and
// encodes the responses. The OpenAPI description at /openapi.json is generated from the
// types that are sent, and /docs shows it.
//
// There is deliberately no CORS below /api/: an API key does not belong in pages of
// other origins. The console has the same origin.
package api

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/spool-video/spool/internal/service/app"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

// Service is what the interface asks of package app.
type Service interface {
	Authenticate(ctx context.Context, secret string) (app.Actor, error)
	CreateVideo(ctx context.Context, by app.Actor, d video.Draft, base string) (app.Upload, error)
	CompleteUpload(ctx context.Context, by app.Actor, id video.ID) (video.Video, error)
	PublicVideo(ctx context.Context, by app.Actor, id video.ID, base string) (app.Watch, error)
	PrivateVideo(ctx context.Context, by app.Actor, id video.ID, ttl time.Duration, base string) (app.Watch, error)
	VideoState(ctx context.Context, by app.Actor, id video.ID) (app.State, error)
	VideoStates(ctx context.Context, ids []video.ID) (map[video.ID]app.State, error)
	ListVideos(ctx context.Context, by app.Actor, f video.Filter, after video.Cursor, limit int) (app.Page, error)
	Report(ctx context.Context, by app.Actor, id video.ID) (app.Report, error)
	DeleteVideo(ctx context.Context, by app.Actor, id video.ID) error
	AddResolution(ctx context.Context, by app.Actor, id video.ID, name video.Name) (app.State, error)
	RetryResolution(ctx context.Context, by app.Actor, id video.ResolutionID) (app.State, error)
	DeleteResolution(ctx context.Context, by app.Actor, id video.ResolutionID) error
}

// Config holds the settings.
type Config struct {
	// BaseURL is the base of the URLs in responses. Empty: derived from each request.
	BaseURL string
	// TrustedProxies are the peers whose Forwarded and X-Forwarded-… headers are used
	// if BaseURL is empty.
	TrustedProxies []netip.Prefix
	// RateLimit is how many requests per second each key may make; 0: no limit.
	RateLimit float64
	// Log gets errors of event streams, at the debug level; nil: no log.
	Log *slog.Logger
}

// API serves the JSON API.
type API struct {
	service Service
	config  Config
	limit   limiter
	routes  http.Handler // everything below /api/, for authenticated requests
	spec    []byte       // openapi.json

	subscribers *subscribers
}

// New returns the API of a service.
func New(service Service, config Config) (*API, error) {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	a := &API{
		service: service, config: config, limit: limiter{perSecond: config.RateLimit, now: time.Now},
		subscribers: newSubscribers(service.VideoStates, config.Log),
	}
	mux := http.NewServeMux()
	h := humago.New(mux, humaConfig())
	a.registerOperations(h)
	a.routes = problem.Mux(mux)

	// huma describes its own error type even if no operation uses it.
	for _, unused := range []string{"ErrorModel", "ErrorDetail"} {
		delete(h.OpenAPI().Components.Schemas.Map(), unused)
	}
	spec, err := json.MarshalIndent(h.OpenAPI(), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the OpenAPI description: %w", err)
	}
	a.spec = append(spec, '\n')
	return a, nil
}

// InFrontOf serves everything below /api and passes the rest to next. It must not be
// behind a mux: that would answer requests for unclean paths, such as /api//video,
// without authentication.
func (a *API) InFrontOf(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api" || strings.HasPrefix(r.URL.Path, "/api/") {
			a.authenticated(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Register adds the OpenAPI description and the page that shows it to mux.
func (a *API) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET /openapi.json", a.serveSpec)
	mux.HandleFunc("GET /docs", serveDocsPage)
	mux.HandleFunc("GET /docs/{file}", serveDocsFile)
}

// schemaName returns the name of a type in the description: videoView is "Video".
func schemaName(t reflect.Type, hint string) string {
	return strings.TrimSuffix(huma.DefaultSchemaNamer(t, hint), "View")
}

func humaConfig() huma.Config {
	c := huma.DefaultConfig("Spool", "1.0")
	c.CreateHooks = nil // they would add "$schema" to every body, and a Link header
	c.DocsPath = ""     // huma's page loads scripts from the internet
	c.OpenAPIPath = ""  // Register serves it, without authentication and indented
	c.SchemasPath = ""
	c.AllowAdditionalPropertiesByDefault = true // fields are added over time; clients must ignore unknown ones
	c.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	c.Info.Description = "Upload videos, have them transcoded to MP4, play them back."
	c.Servers = []*huma.Server{{URL: "/"}}
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"apiKey": {Type: "apiKey", In: "header", Name: headerKey},
	}
	c.Security = []map[string][]string{{"apiKey": {}}}
	return c
}
