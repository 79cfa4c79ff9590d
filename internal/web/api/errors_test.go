package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

func TestAuthenticationComesFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	requests := []struct{ method, path, body string }{
		{"POST", "/api/video", "{"},
		{"POST", "/api/video/not-a-uuid/complete-upload", ""},
		{"GET", "/api/video/not-a-uuid/private/0", ""},
		{"DELETE", "/api/video/" + testID, ""},
		{"GET", "/api/unknown", ""},
		{"PATCH", "/api/video", ""},
		{"GET", "/api/", ""},
		{"GET", "/api", ""},
		{"GET", "/api//video", ""},
		{"GET", "/api/video//public", ""},
		{"POST", "/api/video//complete-upload", ""},
		{"GET", "/api/../healthz", ""},
	}
	for _, q := range requests {
		wantProblem(t, r.askAs("", q.method, q.path, q.body), 401, "missing_api_key")
		wantProblem(t, r.askAs("another", q.method, q.path, q.body), 401, "invalid_api_key")
	}
}

func TestUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	for _, path := range []string{"/api", "/api/", "/api/unknown", "/api/video/" + testID + "/other", "/api/video/", "/elsewhere", "/docs/other", "/schemas/Video.json"} {
		wantProblem(t, r.ask("GET", path, ""), 404, "not_found")
	}
	for _, path := range []string{"/api//video", "/api/video//public", "/api/./video", "/api/video/../video", "//api/video", "//elsewhere", "/docs/../docs"} {
		wantProblem(t, r.ask("GET", path, ""), 404, "not_found")
	}
	w := r.ask("PUT", "/api/video/"+testID, "")
	wantProblem(t, w, 405, "method_not_allowed")
	if got := w.Header().Get("Allow"); got != "DELETE, GET, HEAD, PATCH" {
		t.Errorf("Allow is %q, want DELETE, GET, HEAD", got)
	}
}

func TestErrorsOfHandlersReachTheClient(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err    error
		status int
		code   string
	}{
		{&video.Error{Kind: video.Forbidden, Code: "insufficient_scope"}, 403, "insufficient_scope"},
		{&video.Error{Kind: video.Forbidden, Code: "video_is_private"}, 403, "video_is_private"},
		{&video.Error{Kind: video.Forbidden, Code: "video_is_public"}, 403, "video_is_public"},
		{video.VideoNotFound(), 404, "video_not_found"},
		{video.ResolutionNotFound(), 404, "resolution_not_found"},
		{&video.Error{Kind: video.Conflict, Code: "upload_closed"}, 409, "upload_closed"},
		{&video.Error{Kind: video.TooLarge, Code: "file_too_large"}, 413, "file_too_large"},
		{&video.Error{Kind: video.Unprocessable, Code: "upload_missing"}, 422, "upload_missing"},
		{&video.Error{Kind: video.RateLimited, Code: "rate_limited", RetryAfter: 3 * time.Second}, 429, "rate_limited"},
		{&video.Error{Kind: video.Unavailable, Code: "database_unavailable"}, 503, "database_unavailable"},
		{&video.Error{Kind: video.InsufficientStorage, Code: "insufficient_storage"}, 507, "insufficient_storage"},
		{errors.New("no such table: video"), 500, "internal"},
	}
	r := newRig(t, Config{})
	var failure error
	routes := newTable()
	add(routes, operation{id: "get", route: "GET /api/video/{id}", status: 200}, func(context.Context, *call) (*nothing, error) { return nil, failure })
	addWithBody(routes, operation{id: "edit", route: "PATCH /api/video/{id}", status: 200}, func(context.Context, *call, *videoEdit) (*nothing, error) { return nil, failure })
	r.api.routes = routes.handler()
	for _, tt := range tests {
		failure = fmt.Errorf("doing it: %w", tt.err)
		for _, method := range []string{"GET", "PATCH"} {
			w := r.ask(method, "/api/video/"+testID, `{"title":"x"}`)
			p := wantProblem(t, w, tt.status, tt.code)
			if strings.Contains(w.Body.String(), "no such table") {
				t.Errorf("the answer shows the cause: %s", w.Body)
			}
			if p.Instance != "/api/video/"+testID {
				t.Errorf("instance is %q", p.Instance)
			}
			if wait := w.Header().Get("Retry-After"); (wait != "") != (tt.status == 429 || tt.status == 503 || tt.status == 507) {
				t.Errorf("Retry-After is %q", wait)
			}
		}
	}
}

func TestMalformedPath(t *testing.T) {
	t.Parallel()
	id := problem.Fault{Field: "id", Code: "invalid_uuid", Message: "must be a UUID such as 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"}
	seconds := problem.Fault{Field: "expirationSeconds", Code: "out_of_range", Message: "must be a whole number from 1 to 31536000"}
	tests := []struct {
		method, path string
		want         []problem.Fault
	}{
		{"POST", "/api/video/x/complete-upload", []problem.Fault{id}},
		{"GET", "/api/video/x", []problem.Fault{id}},
		{"GET", "/api/video/x/events", []problem.Fault{id}},
		{"GET", "/api/video/x/public", []problem.Fault{id}},
		{"DELETE", "/api/video/" + testID + "x", []problem.Fault{id}},
		{"DELETE", "/api/video/resolution/x", []problem.Fault{id}},
		{"GET", "/api/video/x/private/0", []problem.Fault{id, seconds}},
	}
	for _, s := range []string{"0", "-1", "+1", "01", "1.0", "1e3", "31536001", "99999999", "999999999999999999999", "%20", "1%20", "٣", "abc"} {
		tests = append(tests, struct {
			method, path string
			want         []problem.Fault
		}{"GET", "/api/video/" + testID + "/private/" + s, []problem.Fault{seconds}})
	}
	r := newRig(t, Config{})
	for _, tt := range tests {
		p := wantProblem(t, r.ask(tt.method, tt.path, ""), 400, "invalid_request")
		if diff := cmp.Diff(tt.want, p.Errors); diff != "" {
			t.Errorf("%s %s: faults (-want +got):\n%s", tt.method, tt.path, diff)
		}
	}
}

func TestContentType(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	complete := "/api/video/" + string(r.Processing(video.Draft{}).ID) + "/complete-upload"
	tests := []struct {
		name, path, body, contentType string
		status                        int
	}{
		{"create as JSON", "/api/video", validDraft, "application/json", 201},
		{"create with parameters", "/api/video", validDraft, "Application/JSON; charset=utf-8", 201},
		{"create as something built on JSON", "/api/video", validDraft, "application/x.y+json", 201},
		{"create without a type", "/api/video", validDraft, "", 201},
		{"create as a form", "/api/video", validDraft, "application/x-www-form-urlencoded", 415},
		{"create as nonsense", "/api/video", validDraft, "json", 415},
		{"create with nothing at all", "/api/video", "", "", 400},
		{"complete as JSON", complete, "{}", "application/json", 201},
		{"complete without a type", complete, "{}", "", 201},
		{"complete as text", complete, "{}", "text/plain", 415},
		{"complete with nothing, whatever its type", complete, "", "text/plain", 201},
		{"complete with no JSON and no type", complete, "x=1", "", 400},
	}
	codes := map[int]string{400: "invalid_request", 415: "unsupported_media_type"}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := request("POST", tt.path, tt.body)
			q.Header.Del("Content-Type")
			if tt.contentType != "" {
				q.Header.Set("Content-Type", tt.contentType)
			}
			w := r.send(q)
			if code := codes[tt.status]; code != "" {
				wantProblem(t, w, tt.status, code)
			} else if w.Code != tt.status {
				t.Errorf("answer is %d %s, want %d", w.Code, w.Body, tt.status)
			}
		})
	}
}

func TestBodyTooLarge(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	complete := "/api/video/" + string(r.Processing(video.Draft{}).ID) + "/complete-upload"
	fit := validDraft + strings.Repeat(" ", maxBody-len(validDraft))
	for _, path := range []string{"/api/video", complete} {
		if w := r.ask("POST", path, fit); w.Code != 201 {
			t.Errorf("%s with %d bytes: answer is %d %s", path, len(fit), w.Code, w.Body)
		}
		p := wantProblem(t, r.ask("POST", path, fit+" "), 413, "body_too_large")
		if !strings.Contains(p.Detail, "1048576") || !strings.Contains(p.Detail, "1048577") {
			t.Errorf("detail lacks the limit or the size: %s", p.Detail)
		}
		q := request("POST", path, fit+" ")
		q.ContentLength = -1
		wantProblem(t, r.send(q), 413, "body_too_large")
	}
}

func TestBodyThatBreaksOff(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	s := httptest.NewServer(r.handler)
	defer s.Close()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /api/video HTTP/1.1\r\nHost: x\r\nX-API-KEY: %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", r.key)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.Body.Close(); res.StatusCode != 400 {
		t.Errorf("status is %d, want 400", res.StatusCode)
	}
}

// The access log reads the route of a request afterwards.
func TestTheRouteIsKeptForTheLog(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	h := r.api.InFrontOf(http.NotFoundHandler())
	unauthenticated := request("GET", "/api/video/"+testID+"/public", "")
	for q, want := range map[*http.Request]string{
		unauthenticated:                           "/api/",
		request("GET", "/api/unknown", ""):        "/api/",
		request("GET", "/api//unclean", ""):       "/api/",
		request("DELETE", "/api/video/x", ""):     "DELETE /api/video/{id}",
		request("GET", "/api/video/x/public", ""): "GET /api/video/{id}/public",
	} {
		if q != unauthenticated {
			q.Header.Set(headerKey, r.key)
		}
		if do(h, q); q.Pattern != want {
			t.Errorf("the route of %s %s is %q, want %q", q.Method, q.URL.Path, q.Pattern, want)
		}
	}
}
