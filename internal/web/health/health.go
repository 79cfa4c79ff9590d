// Package health answers the probes of load balancers and supervisors.
package health

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spool-video/spool/internal/cache"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

// probes are the routes that other programs poll.
var probes = []string{"/healthz", EventsPath, "/readyz", "/metrics"}

// IsProbe reports whether a route is one that other programs poll.
func IsProbe(route string) bool { return slices.Contains(probes, route) }

// Health answers the probes of load balancers and supervisors.
type Health struct {
	ready    *cache.Recent[struct{}]
	sandbox  string
	stopping atomic.Bool
	streams  atomic.Int64 // requests that are sent events
}

// New returns the health of a service. check returns an error while a part of the service does not respond, and sandbox
// says how ffmpeg is confined; "": it is not run here.
func New(check func(context.Context) error, sandbox string) *Health {
	return &Health{ready: newReadiness(check), sandbox: sandbox}
}

// Register adds the probes to mux.
func (h *Health) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", h.serveLiveness)
	mux.HandleFunc("GET "+EventsPath, h.streamEvents)
	mux.HandleFunc("GET /readyz", h.serveReadiness)
}

// Stop has /readyz answer that the service is stopping.
func (h *Health) Stop() { h.stopping.Store(true) }

// serveLiveness responds as long as the process can respond at all.
func (h *Health) serveLiveness(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, map[string]string{"status": "ok"})
}

const (
	// EventsPath is where two events are sent, EventPause apart.
	EventsPath = "/healthz/events"
	EventPause = 1500 * time.Millisecond
	// maxStreams limits the streams at a time, because they need no key. The doctor needs one.
	maxStreams = 8
)

// streamEvents sends an event, and after a pause another one, with the headers of real streams, so that a client can
// see whether the proxies between let events through when they happen.
func (h *Health) streamEvents(w http.ResponseWriter, r *http.Request) {
	defer h.streams.Add(-1)
	if h.streams.Add(1) > maxStreams {
		problem.Write(w, r, &video.Error{Kind: video.Unavailable, Code: "too_many_streams", Msg: "Too many streams are open. Try again later.", RetryAfter: 2 * EventPause})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	fmt.Fprint(w, "data: 1\n\n")
	_ = http.NewResponseController(w).Flush() // the client is gone if this fails
	select {
	case <-time.After(EventPause):
		fmt.Fprint(w, "data: 2\n\n")
	case <-r.Context().Done():
	}
}

// serveReadiness says whether requests should be sent here, and names the part that is not
// ready.
func (h *Health) serveReadiness(w http.ResponseWriter, r *http.Request) {
	if err := h.check(r.Context()); err != nil {
		problem.Write(w, r, err)
		return
	}
	fields := map[string]string{"status": "ready"}
	if h.sandbox != "" {
		fields["sandbox"] = h.sandbox
	}
	writeJSON(w, fields)
}

func (h *Health) check(ctx context.Context) error {
	if h.stopping.Load() {
		return &video.Error{Kind: video.Unavailable, Code: "stopping", Msg: "The service is stopping."}
	}
	_, err := h.ready.Get(ctx)
	if _, named := errors.AsType[*video.Error](err); err == nil || named {
		return err
	}
	return &video.Error{Kind: video.Unavailable, Code: "not_ready", Msg: "A part of the service does not answer.", Err: err}
}

func writeJSON(w http.ResponseWriter, fields map[string]string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_ = json.NewEncoder(w).Encode(fields) // the client is gone if this fails
}
