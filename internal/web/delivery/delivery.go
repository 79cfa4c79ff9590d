// Package delivery moves the bytes: files arrive at signed upload addresses and
// leave from playback addresses. It speaks HTTP (ranges, caching, CORS, slow
// clients); who may have what is decided in package app.
package delivery

import (
	"context"
	"net/http"
	"time"

	"github.com/spool-video/spool/internal/service/app"
	"github.com/spool-video/spool/internal/video"
)

// Service is what delivery asks of package app.
type Service interface {
	ReceiveUpload(ctx context.Context, in app.Incoming) (etag string, err error)
	OpenPublic(ctx context.Context, id video.ID, file string) (app.Content, error)
	// PublicAddress and SignedAddress return where a GET is to be sent instead,
	// or "" when the file is to be opened and served.
	PublicAddress(ctx context.Context, id video.ID, file string) (string, error)
	SignedAddress(ctx context.Context, token string, id video.ID, file string) (string, error)
	OpenSigned(ctx context.Context, token string, id video.ID, file string) (app.Content, error)
}

// Config is what can be set. The zero value is right outside of tests.
type Config struct {
	// Stall is how long an upload may go without a single byte; default 60 s.
	// There is no limit on the whole time.
	Stall time.Duration
	// Now is the clock; default time.Now.
	Now func() time.Time
}

type delivery struct {
	service Service
	stall   time.Duration
	now     func() time.Time
}

// Register adds the upload and playback addresses to mux. It relies on Guard
// around the whole server, which must have neither a ReadTimeout nor a
// WriteTimeout shorter than the longest transfer.
func Register(mux *http.ServeMux, service Service, config Config) {
	d := &delivery{service: service, stall: config.Stall, now: config.Now}
	if d.stall <= 0 {
		d.stall = time.Minute
	}
	if d.now == nil {
		d.now = time.Now
	}
	mux.HandleFunc("PUT /upload/{token}/{id}", d.upload)
	mux.HandleFunc("OPTIONS /upload/{token}/{id}", preflight("PUT", "Content-Type"))

	mux.HandleFunc("GET /v/{id}/{file}", d.playPublic)
	mux.HandleFunc("GET /v/{token}/{id}/{file}", d.playSigned)
	mux.HandleFunc("OPTIONS /v/{id}/{file}", preflight("GET, HEAD", playbackHeaders))
	mux.HandleFunc("OPTIONS /v/{token}/{id}/{file}", preflight("GET, HEAD", playbackHeaders))
}

// playbackHeaders are those that a player in a browser may send.
const playbackHeaders = "Range, If-Range, If-None-Match, If-Modified-Since"

// preflight answers a browser that asks whether a page of another origin may
// use an address. Any may: the address itself is what gives the right.
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

// signedID returns the video's id in a signed address. What is no id goes on as
// it is: nothing was ever signed for it, so the service refuses the address.
func signedID(r *http.Request) video.ID {
	raw := r.PathValue("id")
	if id, err := video.ParseID("id", raw); err == nil {
		return id
	}
	return video.ID(raw)
}
