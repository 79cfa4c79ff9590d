// Package access logs and counts every request.
package access

import (
	"cmp"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spool-video/spool/internal/backend/tracing"
	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/metrics"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/health"
	"github.com/spool-video/spool/internal/web/problem"
)

// Log returns a handler that logs and counts the requests of next. It records the pattern of the route, never the
// path or the query: those may contain a signature. Behind the trusted proxies, it looks for the client.
// sent is told how much was sent of a video; nil: nothing is.
func Log(next http.Handler, log *slog.Logger, m *metrics.Metrics, now func() time.Time, trusted []netip.Prefix, sent func(id video.ID, bytes int64)) http.Handler {
	if sent == nil {
		sent = func(video.ID, int64) {}
	}
	return &access{next: next, log: log, metrics: m, now: now, trusted: trusted, sent: sent, strangers: newStrangers(log, now)}
}

type access struct {
	next      http.Handler
	log       *slog.Logger
	metrics   *metrics.Metrics
	now       func() time.Time
	trusted   []netip.Prefix
	sent      func(id video.ID, bytes int64)
	strangers *strangers
}

func (a *access) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := a.now()
	out := &countingWriter{ResponseWriter: w, now: a.now}
	a.metrics.RequestBegan()
	// Deferred, because a handler aborts a response with a panic.
	defer func() { a.record(r, out, start) }()
	a.next.ServeHTTP(out, r)
}

func (a *access) record(r *http.Request, out *countingWriter, start time.Time) {
	route, status, took := routeOf(r), cmp.Or(out.status, http.StatusOK), a.now().Sub(start)
	a.metrics.RequestEnded(route, r.Method, status, took)
	tracing.Answered(r.Context(), r.Method, route, status)
	if kind, sent := contentOf(route, r.URL.Path); sent {
		var first time.Duration
		if out.bytes > 0 && status < http.StatusMultipleChoices {
			first = max(out.first.Sub(start), 1)
		}
		a.metrics.Served(kind, out.bytes, first)
	}
	if isPlayback(route) && status < http.StatusMultipleChoices && out.bytes > 0 {
		a.sent(video.ID(strings.ToLower(r.PathValue("id"))), out.bytes)
	}
	level := levelOf(route, status)
	if !a.log.Enabled(r.Context(), level) {
		return
	}
	if isOfStranger(route, status) && !a.log.Enabled(r.Context(), slog.LevelDebug) && !a.strangers.lists(limit.ClientOf(r, a.trusted), status) {
		return
	}
	a.log.Log(r.Context(), level, "request",
		"method", r.Method, "route", route, "status", status, "bytes", out.bytes,
		"duration", took.Round(time.Microsecond).String(), "request", problem.ID(r.Context()))
}

// routeOf returns the pattern that the request matched, without its method. The mux
// writes it into the request that it is given, so no handler between here and the mux
// may pass on a copy.
func routeOf(r *http.Request) string {
	pattern := r.Pattern
	if _, path, found := strings.Cut(pattern, " "); found {
		pattern = path
	}
	if pattern == "" || pattern == "/" {
		return "unmatched"
	}
	return pattern
}

// contentOf returns what a route sends at a path, and false if its bytes are not counted: answers to probes
// and to uploads. The name of a file is taken from the path, because playback is served without the mux.
func contentOf(route, urlPath string) (metrics.Content, bool) {
	switch {
	case isPlayback(route):
		return metrics.Played(path.Base(urlPath)), true
	case strings.HasPrefix(route, "/api/"):
		return metrics.Answer, true
	case isPartOfPage(route), slices.Contains([]string{"/{$}", "/docs", "/openapi.json", "/oembed"}, route),
		strings.HasPrefix(route, "/watch/"), strings.HasPrefix(route, "/embed/"), strings.HasPrefix(route, "/share/"):
		return metrics.Page, true
	}
	return "", false
}

// isPlayback reports whether a route serves videos and thumbnails.
func isPlayback(route string) bool { return strings.HasPrefix(route, "/v/") }

// isReport reports whether a route takes what players tell.
func isReport(route string) bool { return strings.HasPrefix(route, "/api/play/") || route == "/cmcd" }

// isPartOfPage reports whether a route serves the assets of a page.
func isPartOfPage(route string) bool {
	for _, prefix := range []string{"/console/", "/docs/", "/player/", "/pages/"} {
		if strings.HasPrefix(route, prefix) {
			return true
		}
	}
	return false
}

// isStream reports whether a route serves events.
func isStream(route string) bool { return strings.HasSuffix(route, "/events") }

// levelOf keeps playback, probes, event streams and page assets out of the log unless
// it is verbose or they fail, because there are thousands of them. It also keeps out
// requests over a limit, which would fill the disk.
func levelOf(route string, status int) slog.Level {
	if status == http.StatusTooManyRequests {
		return slog.LevelDebug
	}
	if status < http.StatusInternalServerError && (isPlayback(route) || isReport(route) || health.IsProbe(route) || isStream(route) || isPartOfPage(route)) {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// countingWriter records the status and size of a response. It keeps the ReadFrom of the
// writer below, without which the kernel could not send files by itself.
type countingWriter struct {
	http.ResponseWriter
	now    func() time.Time
	status int
	bytes  int64
	first  time.Time // when the first byte of the body was sent
}

// Unwrap lets http.ResponseController reach the writer below.
func (w *countingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *countingWriter) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK { // 1xx are only hints
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *countingWriter) Write(b []byte) (int, error) {
	n, err := w.ResponseWriter.Write(b)
	w.begin()
	w.countBytes(int64(n))
	return n, err
}

// begin records when the first byte is sent.
func (w *countingWriter) begin() {
	if w.first.IsZero() {
		w.first = w.now()
	}
}

// ReadFrom passes src to the writer below; io.Copy uses its ReadFrom. A file of this machine is there
// at once, and the kernel sends it only if nothing is wrapped around it. The first byte of anything else
// may have a long way.
func (w *countingWriter) ReadFrom(src io.Reader) (int64, error) {
	from := &src
	if limited, ok := src.(*io.LimitedReader); ok {
		from = &limited.R
	}
	if _, file := (*from).(syscall.Conn); file {
		w.begin()
	} else {
		*from = &firstRead{*from, w.begin}
	}
	n, err := io.Copy(w.ResponseWriter, src)
	w.countBytes(n)
	return n, err
}

func (w *countingWriter) countBytes(n int64) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	w.bytes += n
}

// firstRead calls began when something was read.
type firstRead struct {
	io.Reader
	began func()
}

func (r *firstRead) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if n > 0 {
		r.began()
	}
	return n, err
}
