package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/metrics"
)

const edgeKey = "edge-key-0123456789abcdef"

// runEdge starts a server with the real routes, on an empty database.
func runEdge(t *testing.T, options ...func(*Config)) *running {
	t.Helper()
	r, _ := runParts(t, options...)
	return r
}

// runParts is runEdge for a test that needs the parts behind the routes.
func runParts(t *testing.T, options ...func(*Config)) (*running, *parts) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	c := &Config{Location: Location{DataDir: filepath.Join(t.TempDir(), "data")}}
	for _, o := range options {
		o(c)
	}
	c.APIKey = edgeKey
	m := metrics.New("test")
	p, err := c.openParts(t.Context(), log, m, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	svc := &service{ready: p.ready}
	if err := c.buildHandlers(t.Context(), svc, p, log, m); err != nil {
		t.Fatal(err)
	}
	return runServer(t, svc, stopTimeouts{grace: 10 * time.Second}), p
}

// ask sends a request as it is written, where a client of the library would
// tidy it up, and returns the answer.
func (r *running) ask(t *testing.T, request string) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("there is no answer to %q: %v", request, err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

func wantCode(t *testing.T, request string, res *http.Response, status int, code string) {
	t.Helper()
	var p struct{ Code string }
	if err := json.NewDecoder(res.Body).Decode(&p); err != nil || res.StatusCode != status || p.Code != code {
		t.Errorf("the answer to %q is %d %s %v; want %d %s", request, res.StatusCode, p.Code, err, status, code)
	}
}

func TestPathsThatAreNotCleanAreNotRedirected(t *testing.T) {
	t.Parallel()
	r := runEdge(t)
	for _, line := range []string{"GET /api//video", "GET /api/video//public", "POST /api/video//complete-upload", "GET /api/./video", "DELETE /api/video/../video"} {
		request := line + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
		wantCode(t, line, r.ask(t, request+"\r\n"), 401, "missing_api_key")
		wantCode(t, line, r.ask(t, request+"X-API-KEY: "+edgeKey+"\r\n\r\n"), 404, "not_found")
	}
	for _, line := range []string{"GET //foo", "GET //healthz", "GET /healthz/", "GET /a/../healthz", "GET //api/video", "PUT /upload//x", "GET /v/./x"} {
		wantCode(t, line, r.ask(t, line+" HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"), 404, "not_found")
	}
	r.stop()
	r.wait(t)
}

// What is played is counted by its kind, with the routes as they are.
func TestPlaybackIsCountedByKind(t *testing.T) {
	t.Parallel()
	r := runEdge(t)
	const id = "/v/0190163d-8694-739b-aea5-966c26f8ad90/"
	for _, path := range []string{id + "720p-3.m4s", id + "master.m3u8", "/v/1.k.s" + id[2:] + "720p-0.jpg", id + "captions-en.vtt"} {
		if status, _ := r.get(t, path); status < 400 || status >= 500 {
			t.Errorf("%s: %d; there is no such video", path, status)
		}
	}
	_, counted := r.get(t, "/metrics")
	for kind, some := range map[metrics.Content]bool{metrics.Segment: true, metrics.Playlist: true, metrics.Picture: true, metrics.Text: true, metrics.Film: false} {
		if regexp.MustCompile(`(?m)^spool_served_bytes_total\{kind="`+string(kind)+`"\} [1-9]`).MatchString(counted) != some {
			t.Errorf("bytes of kind %s are counted: %t; want %t", kind, !some, some)
		}
	}
	r.stop()
	r.wait(t)
}

// TestNobodyIsWaitedForWithoutAKey announces bodies and does not send them. That
// keeps neither the answer nor a stop waiting.
func TestNobodyIsWaitedForWithoutAKey(t *testing.T) {
	t.Parallel()
	r := runEdge(t)
	start := time.Now()
	for _, tt := range []struct {
		path   string
		status int
		code   string
	}{
		{"/nothing", 404, "not_found"},
		{"/healthz", 405, "method_not_allowed"},
		{"/api", 401, "missing_api_key"},
		{"/api/video", 401, "missing_api_key"},
		{"/docs", 405, "method_not_allowed"},
	} {
		for _, length := range []string{"Content-Length: 10", "Content-Length: 10000000", "Transfer-Encoding: chunked"} {
			request := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: h\r\n%s\r\n\r\n", tt.path, length)
			wantCode(t, request, r.ask(t, request), tt.status, tt.code)
		}
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("fifteen answers took %s", took)
	}
	start = time.Now()
	r.stop()
	r.wait(t)
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("the stop took %s", took)
	}
}

// TestTheConsoleMayReachWhereItSendsFiles: with a base URL, the addresses that
// the API gives to the console can be of another origin than the page.
func TestTheConsoleMayReachWhereItSendsFiles(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"":                                "connect-src 'self';",
		"https://video.example.com/spool": "connect-src 'self' https://video.example.com;",
	} {
		r := runEdge(t, func(c *Config) { c.BaseURL = base })
		res := r.ask(t, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
		if policy := res.Header.Get("Content-Security-Policy"); res.StatusCode != http.StatusOK || !strings.Contains(policy, want) {
			t.Errorf("with the base URL %q the console answers %d, its policy is %q; want %s", base, res.StatusCode, policy, want)
		}
		r.stop()
		r.wait(t)
	}
}
