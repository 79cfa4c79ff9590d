// Package api is the JSON API below /api/: it decodes requests, calls the service and
// encodes the responses. The OpenAPI description at /openapi.json is generated from the
// types that are sent, and /docs shows it.
//
// There is deliberately no CORS below /api/ for API keys: they do not belong in pages of
// other origins. The console has the same origin. The holder of a token for one video may
// come from any origin; see token.go.
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
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"golang.org/x/time/rate"

	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/captions"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/service/tenants"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

// Services are the parts of package service that the API calls.
type Services struct {
	Keys     Keys
	Catalog  Catalog
	Uploads  Uploads
	Deleter  Deleter
	Tenants  Tenants
	Webhooks Webhooks
	Tokens   Tokens
	Captions Captions
	System   System
}

// Keys authenticates requests, and manages the keys of a tenant.
type Keys interface {
	Authenticate(ctx context.Context, secret string) (auth.Actor, error)
	// Valid reports which of the keys with these IDs are valid.
	Valid(ctx context.Context, ids []string) (map[string]bool, error)
	CreateOwn(ctx context.Context, by auth.Actor, d auth.KeyDraft) (secret string, created auth.Key, err error)
	ListOwn(ctx context.Context, by auth.Actor, after video.Cursor, limit int) (auth.KeyPage, error)
	RevokeOwn(ctx context.Context, by auth.Actor, id string) error
}

// Catalog creates and reads videos.
type Catalog interface {
	Create(ctx context.Context, by auth.Actor, d video.Draft, base string) (catalog.Upload, error)
	Public(ctx context.Context, by auth.Actor, id video.ID, base string) (catalog.PlaybackInfo, error)
	Private(ctx context.Context, by auth.Actor, id video.ID, ttl time.Duration, base string) (catalog.PlaybackInfo, error)
	State(ctx context.Context, by auth.Actor, id video.ID) (catalog.State, error)
	States(ctx context.Context, ids []video.ID) (map[video.ID]catalog.State, error)
	List(ctx context.Context, by auth.Actor, f video.Filter, after video.Cursor, limit int) (catalog.Page, error)
	FileURLs(v video.Video, base string) []playback.FileURL
	Report(ctx context.Context, by auth.Actor, id video.ID) (catalog.Report, error)
	Edit(ctx context.Context, by auth.Actor, id video.ID, e video.Edit) (catalog.State, error)
	RetryImport(ctx context.Context, by auth.Actor, id video.ID) (catalog.State, error)
	AddResolution(ctx context.Context, by auth.Actor, id video.ID, name video.Name) (catalog.State, error)
	RetryResolution(ctx context.Context, by auth.Actor, id video.ResolutionID) (catalog.State, error)
}

// Uploads completes uploads.
type Uploads interface {
	Complete(ctx context.Context, by auth.Actor, id video.ID) (video.Video, error)
}

// Deleter deletes videos and resolutions.
type Deleter interface {
	DeleteVideo(ctx context.Context, by auth.Actor, id video.ID) error
	DeleteResolution(ctx context.Context, by auth.Actor, id video.ResolutionID) error
}

// Captions adds and removes timed text.
type Captions interface {
	Put(ctx context.Context, by auth.Actor, id video.ID, u captions.Upload) (v video.Video, f video.File, created bool, err error)
	Delete(ctx context.Context, by auth.Actor, id video.ID, language string) error
}

// Tenants says what tenants use.
type Tenants interface {
	Usage(ctx context.Context, by auth.Actor) (video.Usage, error)
	Page(ctx context.Context, by auth.Actor, after video.Tenant, limit int) (tenants.Page, error)
}

// Tokens makes and checks credentials for the state of one video.
type Tokens interface {
	Create(ctx context.Context, by auth.Actor, id video.ID, ttl time.Duration) (token string, expires time.Time, err error)
	Authenticate(ctx context.Context, id video.ID, token string) (auth.Actor, error)
}

// Config holds the settings.
type Config struct {
	// BaseURL is the base of the URLs in responses. Empty: derived from each request.
	BaseURL string
	// TrustedProxies are the peers whose X-Forwarded-For header names the client, and, if
	// BaseURL is empty, whose Forwarded and X-Forwarded-… headers name the host.
	TrustedProxies []netip.Prefix
	// RateLimit is how many requests per second each key may make; 0: no limit.
	RateLimit float64
	// CheapReads lets a read of one video count as a twentieth of a request.
	CheapReads bool
	// Log gets errors of event streams, at the debug level, and a warning if a client sends
	// many invalid keys; nil: no log.
	Log *slog.Logger
}

// API serves the JSON API.
type API struct {
	services Services
	config   Config
	limit    *limiter
	bodies   *slots
	searches *slots
	lists    *slots
	failures *limit.Rates[netip.Prefix]
	routes   http.Handler           // everything below /api/, for authenticated requests
	spec     func() ([]byte, error) // openapi.json

	subscribers *subscribers
	warnings    rate.Sometimes // about invalid keys
}

// New returns the API of the services.
func New(services Services, config Config) *API {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	a := &API{
		services: services, config: config, limit: newLimiter(config.RateLimit, config.CheapReads, time.Now),
		bodies: newBodySlots(), searches: newSearchSlots(), lists: newListSlots(),
		failures: limit.NewRates[netip.Prefix](failureRate, failureBurst, time.Now), warnings: rate.Sometimes{Interval: time.Minute},
		subscribers: newSubscribers(services.Catalog.States, services.Keys.Valid, config.Log),
	}
	a.subscribers.tokens = services.Tokens
	mux := http.NewServeMux()
	h := humago.New(mux, humaConfig())
	a.registerOperations(h)
	a.routes = problem.Mux(mux)

	// huma describes its own error type even if no operation uses it.
	for _, unused := range []string{"ErrorModel", "ErrorDetail"} {
		delete(h.OpenAPI().Components.Schemas.Map(), unused)
	}
	nameEnums(h.OpenAPI())
	a.spec = sync.OnceValues(func() ([]byte, error) { return writeSpec(h.OpenAPI()) }) // when somebody asks: few do
	return a
}

func writeSpec(described *huma.OpenAPI) ([]byte, error) {
	spec, err := json.MarshalIndent(described, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the OpenAPI description: %w", err)
	}
	return append(spec, '\n'), nil
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
	c.Formats = map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat}
	c.AllowAdditionalPropertiesByDefault = true // fields are added over time; clients must ignore unknown ones
	c.Components.Schemas = huma.NewMapRegistry(schemaPrefix, schemaName)
	c.Info.Description = "Upload videos, have them transcoded to MP4, play them back."
	c.Servers = []*huma.Server{{URL: "/"}}
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"apiKey":     {Type: "apiKey", In: "header", Name: headerKey},
		"videoToken": {Type: "apiKey", In: "query", Name: tokenParameter},
	}
	c.Security = []map[string][]string{{"apiKey": {}}}
	return c
}
