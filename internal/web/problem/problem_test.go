package problem

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spool-video/spool/internal/video"
)

// answer serves one request with h inside RequestID and returns the response, the
// problem in it, and what was logged.
func answer(t *testing.T, h http.Handler, r *http.Request) (*httptest.ResponseRecorder, Problem, string) {
	t.Helper()
	var log bytes.Buffer
	w := httptest.NewRecorder()
	RequestID(slog.New(slog.NewTextHandler(&log, nil)), h).ServeHTTP(w, r)
	if got := w.Header().Get("Content-Type"); got != ContentType {
		t.Errorf("Content-Type is %q, want %q; body %s", got, ContentType, w.Body)
	}
	var p Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("the body is not a problem: %v: %s", err, w.Body)
	}
	if p.Status != w.Code {
		t.Errorf("status in the body is %d, of the answer %d", p.Status, w.Code)
	}
	return w, p, log.String()
}

func failing(err error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { Write(w, r, err) })
}

func TestWriteStatusOfEachKind(t *testing.T) {
	t.Parallel()
	want := map[video.Kind]int{
		video.Internal: 500, video.Invalid: 400, video.Unauthenticated: 401, video.Forbidden: 403,
		video.NotFound: 404, video.Gone: 410, video.NotAllowed: 405, video.Conflict: 409, video.TooLarge: 413,
		video.UnsupportedMedia: 415, video.Unprocessable: 422, video.RangeUnsatisfiable: 416, video.PreconditionFailed: 412,
		video.RateLimited: 429, video.Unavailable: 503, video.InsufficientStorage: 507,
		"a kind nobody knows": 500,
	}
	for kind, status := range want {
		t.Run(string(kind), func(t *testing.T) {
			err := fmt.Errorf("doing it: %w", &video.Error{Kind: kind, Code: "some_code", Msg: "A sentence.", Err: errors.New("the secret cause")})
			w, p, log := answer(t, failing(err), httptest.NewRequest("GET", "/x", nil))
			if w.Code != status {
				t.Errorf("status is %d, want %d", w.Code, status)
			}
			if strings.Contains(w.Body.String(), "secret") {
				t.Errorf("the answer shows the cause: %s", w.Body)
			}
			if logged := strings.Contains(log, "the secret cause"); logged != (status >= 500) {
				t.Errorf("logged: %v for status %d: %s", logged, status, log)
			}
			if status != 500 && (p.Code != "some_code" || p.Detail != "A sentence.") {
				t.Errorf("problem is %+v", p)
			}
			if status == 500 && p.Code != "internal" {
				t.Errorf("code is %q, want internal", p.Code)
			}
		})
	}
}

func TestWriteWholeBody(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest("POST", "/api/video?secret=1", nil)
	r.Header.Set("X-Request-Id", "abc-1")
	err := video.InvalidFields(video.Fault{Field: "resolutions[1]", Code: "not_allowed", Message: "must be <this> & that"})
	w, p, log := answer(t, failing(err), r)

	want := Problem{
		Type: "urn:spool:problem:invalid_request", Title: "Invalid request", Status: 400,
		Detail: "The request has invalid fields; see errors.", Instance: "/api/video", Code: "invalid_request", RequestID: "abc-1",
		Errors: []Fault{{Field: "resolutions[1]", Code: "not_allowed", Message: "must be <this> & that"}},
	}
	if diff := cmp.Diff(want, p, cmpopts.IgnoreUnexported(Problem{})); diff != "" {
		t.Errorf("problem (-want +got):\n%s", diff)
	}
	if !strings.Contains(w.Body.String(), "<this> &") {
		t.Errorf("HTML characters are escaped: %s", w.Body)
	}
	if log != "" {
		t.Errorf("a client's mistake was logged: %s", log)
	}
	if got := w.Header().Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control is %q", got)
	}
	if got := w.Header().Get("Content-Length"); got != strconv.Itoa(w.Body.Len()) {
		t.Errorf("Content-Length is %q for %d bytes", got, w.Body.Len())
	}
}

func TestUnclassifiedErrorStaysInTheLog(t *testing.T) {
	t.Parallel()
	_, p, log := answer(t, failing(errors.New("open /srv/data: permission denied")), httptest.NewRequest("GET", "/v/1.k.sig/0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e/720p.mp4", nil))
	if p.Status != 500 || p.Code != "internal" || strings.Contains(p.Detail, "/srv") {
		t.Errorf("problem is %+v", p)
	}
	for _, want := range []string{"level=ERROR", p.RequestID, "permission denied", "/v/…/"} {
		if !strings.Contains(log, want) {
			t.Errorf("log lacks %q: %s", want, log)
		}
	}
	if strings.Contains(log, "1.k.sig") || strings.Count(log, "\n") != 1 {
		t.Errorf("log shows the signature or more than one line: %s", log)
	}
}

func TestDisconnectedClientIsNotAServerError(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w, _, log := answer(t, failing(ctx.Err()), httptest.NewRequest("GET", "/x", nil).WithContext(ctx))
	if w.Code != 499 || log != "" {
		t.Errorf("status %d, log %q; want 499 and none", w.Code, log)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		err  video.Error
		want string
	}{
		{"from the error, rounded up", video.Error{Kind: video.RateLimited, RetryAfter: 1500 * time.Millisecond}, "2"},
		{"rate limit by default", video.Error{Kind: video.RateLimited}, "1"},
		{"unavailable by default", video.Error{Kind: video.Unavailable}, "5"},
		{"full by default", video.Error{Kind: video.InsufficientStorage}, "60"},
		{"not ready, from the error", video.Error{Kind: video.NotFound, Code: "not_ready", RetryAfter: 9 * time.Second}, "9"},
		{"waiting does not help", video.Error{Kind: video.NotFound, Code: "not_found"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, _, _ := answer(t, failing(&tt.err), httptest.NewRequest("GET", "/x", nil))
			if got := w.Header().Get("Retry-After"); got != tt.want {
				t.Errorf("Retry-After is %q, want %q", got, tt.want)
			}
		})
	}
}

func TestRedactPath(t *testing.T) {
	t.Parallel()
	const id = "0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"
	tests := []struct{ name, path, want string }{
		{"signed playback", "/v/17.k1.c2ln/" + id + "/720p.mp4", "/v/…/" + id + "/720p.mp4"},
		{"embed page", "/embed/17.k1.c2ln/" + id, "/embed/…/" + id},
		{"public embed page", "/embed/" + id, "/embed/" + id},
		{"public playback", "/v/" + id + "/720p.mp4", "/v/" + id + "/720p.mp4"},
		{"upload", "/upload/17.k1.c2ln/" + id, "/upload/…/" + id},
		{"resumable upload", "/upload/tus/17.k1.c2ln/" + id, "/upload/tus/…/" + id},
		{"cut short", "/upload/17.k1.c2ln", "/upload/…"},
		{"a token where an id belongs", "/v/17.k1.c2ln/720p.mp4", "/v/…/720p.mp4"},
		{"no token", "/v/", "/v/"},
		{"another path", "/api/video/17.k1.c2ln", "/api/video/17.k1.c2ln"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := redactPath(tt.path); got != tt.want {
				t.Errorf("redactPath(%q) = %q, want %q", tt.path, got, tt.want)
			}
		})
	}
}
