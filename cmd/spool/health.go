package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spool-video/spool/internal/problem"
	"github.com/spool-video/spool/internal/video"
)

// probes are the routes that machines ask over and over.
var probes = []string{"/healthz", "/readyz", "/metrics"}

func isProbe(route string) bool { return slices.Contains(probes, route) }

// readyTimeout is how long the parts may take to say that they work.
const readyTimeout = 5 * time.Second

// health answers the questions of load balancers and supervisors.
type health struct {
	ready    func(context.Context) error
	stopping atomic.Bool
}

// alive answers as long as the process can answer at all.
func (h *health) alive(w http.ResponseWriter, r *http.Request) { sayStatus(w, "ok") }

// isReady answers whether requests should be sent here, and names the part that
// is not ready.
func (h *health) isReady(w http.ResponseWriter, r *http.Request) {
	if err := h.check(r.Context()); err != nil {
		problem.Write(w, r, err)
		return
	}
	sayStatus(w, "ready")
}

func (h *health) check(ctx context.Context) error {
	if h.stopping.Load() {
		return &video.Error{Kind: video.Unavailable, Code: "stopping", Msg: "The service is stopping."}
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	err := h.ready(ctx)
	if _, named := errors.AsType[*video.Error](err); err == nil || named {
		return err
	}
	return &video.Error{Kind: video.Unavailable, Code: "not_ready", Msg: "A part of the service does not answer.", Err: err}
}

func sayStatus(w http.ResponseWriter, status string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, `{"status":"`+status+`"}`+"\n") // the client is gone if this fails
}
