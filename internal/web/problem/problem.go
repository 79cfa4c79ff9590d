// Package problem answers requests that failed: RFC 9457 problem+json. It is the
// only place where an error becomes an HTTP status, and the only one where a
// request's error is logged. It also owns what every request needs for that: an
// id, a guard against panics, and a mux whose own refusals look like all others.
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

	"github.com/spool-video/spool/internal/video"
)

// ContentType is the media type of every answer to a failed request.
const ContentType = "application/problem+json"

// statusClientClosed is what an access log shows for a request whose client
// left before the answer. Nobody receives it; it keeps such requests from being
// counted as faults of the server.
const statusClientClosed = 499

// statuses gives the HTTP status for each kind of error.
var statuses = map[video.Kind]int{
	video.Internal:            http.StatusInternalServerError,
	video.Invalid:             http.StatusBadRequest,
	video.Unauthenticated:     http.StatusUnauthorized,
	video.Forbidden:           http.StatusForbidden,
	video.NotFound:            http.StatusNotFound,
	video.NotAllowed:          http.StatusMethodNotAllowed,
	video.Conflict:            http.StatusConflict,
	video.Locked:              http.StatusLocked,
	video.TooLarge:            http.StatusRequestEntityTooLarge,
	video.UnsupportedMedia:    http.StatusUnsupportedMediaType,
	video.Unprocessable:       http.StatusUnprocessableEntity,
	video.PreconditionFailed:  http.StatusPreconditionFailed,
	video.RangeUnsatisfiable:  http.StatusRequestedRangeNotSatisfiable,
	video.RateLimited:         http.StatusTooManyRequests,
	video.Unavailable:         http.StatusServiceUnavailable,
	video.InsufficientStorage: http.StatusInsufficientStorage,
}

// patience says when to try again where waiting helps and the error itself does
// not say how long.
var patience = map[int]time.Duration{
	http.StatusTooManyRequests:     time.Second,
	http.StatusLocked:              time.Second,
	http.StatusServiceUnavailable:  5 * time.Second,
	http.StatusInsufficientStorage: time.Minute,
}

// Problem is the body of the answer to a failed request.
type Problem struct {
	Type      string  `json:"type" format:"uri" doc:"A stable URI for this kind of problem." example:"urn:spool:problem:video_not_found"`
	Title     string  `json:"title" doc:"A short summary of this kind of problem."`
	Status    int     `json:"status" doc:"The HTTP status of the answer." example:"404"`
	Detail    string  `json:"detail" doc:"A sentence about this occurrence."`
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

// Error makes a Problem something that a huma operation can return.
func (p *Problem) Error() string { return p.Code + ": " + p.Detail }

// GetStatus tells huma the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType tells huma the media type.
func (p *Problem) ContentType(string) string { return ContentType }

// GetHeaders returns the headers that belong to the problem: Retry-After, in
// whole seconds, where waiting helps.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(p.retryAfter.Seconds()))))
	}
	return h
}

// Of turns err, met while serving r, into the answer for the client. Trouble of
// the server's own is logged here, with the id of the request, and described to
// the client in neutral words only.
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
		p = &Problem{Status: http.StatusInternalServerError, Code: "internal", Detail: "The server met an unexpected fault. The request id names it in the server's log."}
	}
	p.Type = "urn:spool:problem:" + p.Code
	p.Title = title(p.Code)
	p.Instance = (&url.URL{Path: redactPath(r.URL.Path)}).EscapedPath()
	p.RequestID = ID(r.Context())
	report(r, p, err)
	return p
}

func classifiedProblem(status int, e *video.Error) *Problem {
	p := &Problem{Status: status, Code: e.Code, Detail: e.Msg, retryAfter: e.RetryAfter}
	if p.Code == "" {
		p.Code = string(e.Kind)
	}
	if p.retryAfter <= 0 {
		p.retryAfter = patience[status]
	}
	for _, f := range e.Faults {
		p.Errors = append(p.Errors, Fault(f))
	}
	return p
}

// report logs what an operator must know. A request that the client got wrong
// is no fault of the server and leaves no line.
func report(r *http.Request, p *Problem, err error) {
	if p.Status < http.StatusInternalServerError {
		return
	}
	level := slog.LevelWarn // the service said that it cannot now, and knows why
	if p.Status == http.StatusInternalServerError {
		level = slog.LevelError
	}
	attrs := []slog.Attr{
		slog.String("request", p.RequestID), slog.String("method", r.Method),
		slog.String("path", redactPath(r.URL.Path)), slog.Int("status", p.Status), slog.Any("err", err),
	}
	if pe, ok := errors.AsType[*panicError](err); ok {
		attrs = append(attrs, slog.String("stack", string(pe.stack)))
	}
	logger(r.Context()).LogAttrs(r.Context(), level, "request failed", attrs...)
}

// Write answers r with err as problem+json. It must be called before anything
// else of the answer has been written.
func Write(w http.ResponseWriter, r *http.Request, err error) {
	p := Of(r, err)
	h := w.Header()
	// What was set for the answer that did not come must not describe this one.
	for _, name := range []string{"Content-Length", "Content-Encoding", "Content-Disposition", "Etag", "Last-Modified"} {
		h.Del(name)
	}
	h.Set("Content-Type", ContentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	for name, values := range p.GetHeaders() {
		h[name] = values
	}
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(p) // strings and numbers only: it cannot fail
	// With its length the answer is whole as soon as it is sent, even where the
	// server still waits for the rest of the request.
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(p.Status)
	_, _ = w.Write(body.Bytes()) // fails for a client that has gone
}

// title turns a code into words: "invalid_api_key" is "Invalid API key".
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

// redactPath returns path without the signature that upload and playback
// addresses carry, so that it can be logged and shown: whoever holds the whole
// path holds the file.
func redactPath(path string) string {
	for _, prefix := range []string{"/v/", "/upload/tus/", "/upload/"} {
		rest, ok := strings.CutPrefix(path, prefix)
		if !ok {
			continue
		}
		first, tail, more := strings.Cut(rest, "/")
		if _, err := video.ParseID("", first); err == nil || first == "" {
			return path // a public address: there is no signature in it
		}
		if more {
			tail = "/" + tail
		}
		return prefix + "…" + tail
	}
	return path
}
