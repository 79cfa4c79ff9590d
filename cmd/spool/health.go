package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

// probes are the routes that other programs poll.
var probes = []string{"/healthz", beatPath, "/readyz", "/metrics"}

func isProbe(route string) bool { return slices.Contains(probes, route) }

// health answers the probes of load balancers and supervisors.
type health struct {
	ready    *readiness
	sandbox  string // how ffmpeg is confined
	stopping atomic.Bool
	beats    atomic.Int64 // requests that are sent beats
}

// serveLiveness responds as long as the process can respond at all.
func (h *health) serveLiveness(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, map[string]string{"status": "ok"})
}

const (
	beatPath  = "/healthz/events"
	beatPause = 1500 * time.Millisecond
	// mostBeats at once: it needs no key, and the doctor needs one.
	mostBeats = 8
)

// streamBeats sends an event, and after a pause another one, with the headers of real streams: whoever
// asks through a proxy sees whether it lets events through when they happen.
func (h *health) streamBeats(w http.ResponseWriter, r *http.Request) {
	defer h.beats.Add(-1)
	if h.beats.Add(1) > mostBeats {
		problem.Write(w, r, &video.Error{Kind: video.Unavailable, Code: "too_many_streams", Msg: "Too many streams are open. Try again later.", RetryAfter: 2 * beatPause})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	fmt.Fprint(w, "data: 1\n\n")
	_ = http.NewResponseController(w).Flush() // the client is gone if this fails
	select {
	case <-time.After(beatPause):
		fmt.Fprint(w, "data: 2\n\n")
	case <-r.Context().Done():
	}
}

// isReady says whether requests should be sent here, and names the part that is not
// ready.
func (h *health) isReady(w http.ResponseWriter, r *http.Request) {
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

func (h *health) check(ctx context.Context) error {
	if h.stopping.Load() {
		return &video.Error{Kind: video.Unavailable, Code: "stopping", Msg: "The service is stopping."}
	}
	err := h.ready.wait(ctx)
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
