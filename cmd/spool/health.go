package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

// probes are the routes that other programs poll.
var probes = []string{"/healthz", "/readyz", "/metrics"}

func isProbe(route string) bool { return slices.Contains(probes, route) }

// health answers the probes of load balancers and supervisors.
type health struct {
	ready    *readiness
	sandbox  string // how ffmpeg is confined
	stopping atomic.Bool
}

// alive responds as long as the process can respond at all.
func (h *health) alive(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, map[string]string{"status": "ok"})
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
