// Package delivery receives files at signed upload URLs and serves files at
// playback URLs. It handles HTTP: ranges, caching, CORS and slow clients. The
// service decides who may access what.
package delivery

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/service/audience"
	"github.com/spool-video/spool/internal/service/pictures"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/video"
)

// Config holds the settings. The zero value is right outside of tests.
type Config struct {
	// IdleTimeout is how long an upload may make no progress; default 60 s.
	IdleTimeout time.Duration
	// Now is the clock; default time.Now.
	Now func() time.Time
	// CDN says that a CDN is in front of playback: responses name their video for it.
	CDN bool
	// Purged says that the CDN is told of deletions, so that it may keep public files for longer.
	Purged bool
	// Limits are what the process shares out between clients; nil: limits of its own.
	Limits *limit.Limits
	// TrustedProxies are the peers whose X-Forwarded-For header names the client.
	TrustedProxies []netip.Prefix
	// Base returns what addresses in the answer to a request start with; default: nothing is known of that.
	Base func(*http.Request) (string, error)
	// Audience counts what players tell by CMCD; nil: nothing is counted.
	Audience *audience.Service
	// Sendfile has proxies that ask for it send files themselves. The zero value does not.
	Sendfile Sendfile
}

type delivery struct {
	uploads *uploads.Service
	player  *playback.Player
	config  Config

	pictures *pictures.Service
}

// Register adds the upload and playback routes to mux. The whole server must be
// wrapped in Guard, and must have neither a ReadTimeout nor a WriteTimeout shorter
// than the longest transfer.
func Register(mux *http.ServeMux, uploads *uploads.Service, player *playback.Player, pictures *pictures.Service, config Config) {
	if config.IdleTimeout <= 0 {
		config.IdleTimeout = time.Minute
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Base == nil {
		config.Base = func(*http.Request) (string, error) { return "", nil }
	}
	if config.Limits == nil {
		config.Limits = limit.New(defaultFiles)
	}
	d := &delivery{uploads, player, config, pictures}
	mux.HandleFunc("PUT /upload/{token}/{id}", d.upload)
	mux.HandleFunc("OPTIONS /upload/{token}/{id}", preflight("PUT", "Content-Type"))

	mux.HandleFunc("GET /v/{id}/{file}", d.inTurn(d.playPublic))
	mux.HandleFunc("GET /v/{token}/{id}/{file}", d.inTurn(d.playSigned))
	mux.HandleFunc("GET /v/{token}/{id}/"+playback.OriginalPath, d.inTurn(d.playOriginal))
	mux.HandleFunc("OPTIONS /v/{id}/{file}", preflight("GET, HEAD", playbackHeaders))
	mux.HandleFunc("OPTIONS /v/{token}/{id}/{file}", preflight("GET, HEAD", playbackHeaders))
}

// defaultFiles is how many files may be open for playback if Config does not say.
const defaultFiles = 1000

// inTurn gives each request what its client may use of the process, until the answer is written.
func (d *delivery) inTurn(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, turn := d.config.Limits.Begin(r.Context(), limit.Principal{Client: limit.ClientOf(r, d.config.TrustedProxies)})
		defer turn.End()
		next(w, r.WithContext(ctx))
	}
}

// playbackHeaders are the request headers that a player in a browser may send.
const playbackHeaders = "Range, If-Range, If-None-Match, If-Modified-Since, CMCD-Request, CMCD-Object, CMCD-Status, CMCD-Session"

// preflight answers CORS preflight requests. Every origin is allowed: knowing the
// URL is what grants access.
func preflight(methods, headers string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Allow-Methods", methods)
		h.Set("Access-Control-Allow-Headers", headers)
		h.Set("Access-Control-Max-Age", "86400")
		w.WriteHeader(http.StatusNoContent)
	}
}

// SignedID returns the video ID of a signed URL. A malformed ID is passed on as it
// is: no signature matches it, so the service rejects the URL.
func SignedID(r *http.Request) video.ID {
	raw := r.PathValue("id")
	if id, err := video.ParseID("id", raw); err == nil {
		return id
	}
	return video.ID(raw)
}
