// Package problem writes error responses: RFC 9457 problem+json. It is the only
// place where an error becomes an HTTP status, and the only one that logs the
// error of a request. It also provides what that needs: request IDs, recovery from
// panics, and a mux whose 404 and 405 responses are problems, too.
package problem

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/panics"
	"github.com/spool-video/spool/internal/video"
)

// ContentType is the media type of every error response.
const ContentType = "application/problem+json"

// statusClientClosed is the status of a request whose client disconnected before
// the response. It is never received; in access logs and metrics it keeps such
// requests from counting as server errors.
const statusClientClosed = 499

// statuses maps each kind of error to its HTTP status.
var statuses = map[video.Kind]int{
	video.Internal:            http.StatusInternalServerError,
	video.Invalid:             http.StatusBadRequest,
	video.Unauthenticated:     http.StatusUnauthorized,
	video.Forbidden:           http.StatusForbidden,
	video.NotFound:            http.StatusNotFound,
	video.Gone:                http.StatusGone,
	video.NotAllowed:          http.StatusMethodNotAllowed,
	video.Conflict:            http.StatusConflict,
	video.Locked:              http.StatusLocked,
	video.TooLarge:            http.StatusRequestEntityTooLarge,
	video.UnsupportedMedia:    http.StatusUnsupportedMediaType,
	video.Unprocessable:       http.StatusUnprocessableEntity,
	video.PreconditionFailed:  http.StatusPreconditionFailed,
	video.RangeUnsatisfiable:  http.StatusRequestedRangeNotSatisfiable,
	video.RateLimited:         http.StatusTooManyRequests,
	video.NotImplemented:      http.StatusNotImplemented,
	video.Unavailable:         http.StatusServiceUnavailable,
	video.InsufficientStorage: http.StatusInsufficientStorage,
}

// defaultRetryAfter is sent for statuses where retrying later helps, if the error
// itself does not say how much later.
var defaultRetryAfter = map[int]time.Duration{
	http.StatusTooManyRequests:     time.Second,
	http.StatusLocked:              time.Second,
	http.StatusServiceUnavailable:  5 * time.Second,
	http.StatusInsufficientStorage: time.Minute,
}

// Problem is the body of an error response.
type Problem struct {
	Type      string  `json:"type" format:"uri" doc:"A stable URI for this kind of problem." example:"urn:spool:problem:video_not_found"`
	Title     string  `json:"title" doc:"A short summary of this kind of problem."`
	Status    int     `json:"status" doc:"The HTTP status of the answer." example:"404"`
	Detail    string  `json:"detail" doc:"An explanation of this occurrence."`
	Instance  string  `json:"instance" format:"uri-reference" doc:"The path of the request, without its signature."`
	Code      string  `json:"code" doc:"A stable word for programs." example:"video_not_found"`
	RequestID string  `json:"requestId" doc:"Names this request in the server's log."`
	Errors    []Fault `json:"errors,omitempty" nullable:"false" doc:"Everything wrong with the fields of the request."`

	retryAfter time.Duration
}

// Fault is one thing wrong with one field of a request.
type Fault struct {
	Field   string `json:"field" doc:"The field, or empty for the body as a whole." example:"resolutions[1]"`
	Code    string `json:"code" doc:"A stable word for programs." example:"not_allowed"`
	Message string `json:"message" doc:"What the field must be."`
}

// Headers returns the headers that belong to the problem: Retry-After, in whole
// seconds, where retrying later helps.
func (p *Problem) Headers() http.Header {
	h := http.Header{}
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(p.retryAfter.Seconds()))))
	}
	return h
}

// Of turns the error of request r into a problem for the client. Server errors are
// logged here, with the ID of the request; the client gets no details of them.
func Of(r *http.Request, err error) *Problem {
	var p *Problem
	e, classified := errors.AsType[*video.Error](err)
	status, known := statuses[video.KindOf(err)]
	switch {
	case classified && known && e.Kind != video.Internal:
		p = classifiedProblem(status, e)
	case r.Context().Err() != nil:
		p = &Problem{Status: statusClientClosed, Code: "client_closed_request", Detail: "The client closed the request before it was answered."}
	default:
		p = &Problem{Status: http.StatusInternalServerError, Code: "internal", Detail: "An unexpected error occurred. The request ID identifies it in the server's log."}
	}
	p.Type = "urn:spool:problem:" + p.Code
	p.Title = title(p.Code)
	p.Instance = (&url.URL{Path: redactPath(r.URL.Path)}).EscapedPath()
	p.RequestID = ID(r.Context())
	logServerError(r, p, err)
	return p
}

func classifiedProblem(status int, e *video.Error) *Problem {
	p := &Problem{Status: status, Code: e.Code, Detail: e.Msg, retryAfter: e.RetryAfter}
	if p.Code == "" {
		p.Code = string(e.Kind)
	}
	if p.retryAfter <= 0 {
		p.retryAfter = defaultRetryAfter[status]
	}
	for _, f := range e.Faults {
		p.Errors = append(p.Errors, Fault(f))
	}
	return p
}

// logServerError logs errors that concern the operator. Client errors are not
// logged.
func logServerError(r *http.Request, p *Problem, err error) {
	if p.Status < http.StatusInternalServerError || p.Status == http.StatusNotImplemented {
		return
	}
	level := slog.LevelWarn     // a known condition, such as a full disk
	if p.Code == "overloaded" { // clients can cause as many as they like; the metrics count them
		level = slog.LevelDebug
	}
	if p.Status == http.StatusInternalServerError {
		level = slog.LevelError
	}
	attrs := []slog.Attr{
		slog.String("request", p.RequestID), slog.String("method", r.Method),
		slog.String("path", redactPath(r.URL.Path)), slog.Int("status", p.Status), slog.Any("err", err),
	}
	if pe, ok := errors.AsType[*panics.Error](err); ok {
		attrs = append(attrs, slog.String("stack", string(pe.Stack)))
	}
	logger(r.Context()).LogAttrs(r.Context(), level, "request failed", attrs...)
}

// Write answers r with err as problem+json. It must be called before any part of
// a response has been written.
func Write(w http.ResponseWriter, r *http.Request, err error) {
	p := Of(r, err)
	h := w.Header()
	// These describe the response that was intended, not this one.
	for _, name := range []string{"Content-Length", "Content-Encoding", "Content-Disposition", "Etag", "Last-Modified"} {
		h.Del(name)
	}
	h.Set("Content-Type", ContentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	for name, values := range p.Headers() {
		h[name] = values
	}
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(p) // only strings and numbers: it cannot fail
	// With Content-Length, the client knows the response is complete even while the
	// server still waits for the rest of the request.
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(p.Status)
	_, _ = w.Write(body.Bytes()) // fails if the client has disconnected
}

// title turns a code into a title: "invalid_api_key" is "Invalid API key".
func title(code string) string {
	words := strings.Split(code, "_")
	for i, w := range words {
		switch {
		case w == "api" || w == "url":
			words[i] = strings.ToUpper(w)
		case i == 0 && w != "":
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, " ")
}

// redactPath removes the signature of upload, playback and embed URLs from path, so that
// it can be logged and shown: the full path grants access to the file.
func redactPath(path string) string {
	for _, prefix := range []string{"/v/", "/embed/", "/share/", "/upload/tus/", "/upload/"} {
		rest, ok := strings.CutPrefix(path, prefix)
		if !ok {
			continue
		}
		first, tail, more := strings.Cut(rest, "/")
		if _, err := video.ParseID("", first); err == nil || first == "" {
			return path // a public URL: it has no signature
		}
		if more {
			tail = "/" + tail
		}
		return prefix + "…" + tail
	}
	return path
}
