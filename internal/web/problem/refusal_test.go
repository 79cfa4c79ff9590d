package problem_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/web/problem"
)

// net/http answers these requests before any handler sees them.
func TestRefusalsOfTheServerAreProblems(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{MaxHeaderBytes: 4 << 10, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "ours")
	})}
	go s.Serve(problem.Listen(ln))
	t.Cleanup(func() { s.Close() })
	// As much as the server reads: with more, the connection is reset, and the answer may be lost.
	const head = "GET / HTTP/1.1\r\nHost: x\r\nLong: "
	tooLong := head + strings.Repeat("x", 4<<10+4<<10-len(head))
	for request, want := range map[string]struct {
		status int
		code   string
	}{
		tooLong:                  {http.StatusRequestHeaderFieldsTooLarge, "headers_too_large"},
		"GET / HTTP/1.1\r\n\r\n": {http.StatusBadRequest, "invalid_request"},
		"nonsense\r\n\r\n":       {http.StatusBadRequest, "invalid_request"},
		"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: rot13\r\n\r\n": {http.StatusNotImplemented, "invalid_request"},
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n":                             {http.StatusTeapot, ""},
	} {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		go io.WriteString(c, request) // the server may answer before it has read all of it
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("%.40q: %v", request, err)
		}
		body, err := io.ReadAll(r.Body)
		c.Close()
		if err != nil || r.StatusCode != want.status {
			t.Errorf("%.40q gets %d %q, %v; want %d", request, r.StatusCode, body, err, want.status)
		}
		if want.code == "" {
			if string(body) != "ours" {
				t.Errorf("an answer of a handler is %q", body)
			}
			continue
		}
		var p problem.Problem
		if err := json.Unmarshal(body, &p); err != nil || p.Status != want.status || p.Code != want.code || p.Detail == "" || r.Header.Get("Content-Type") != problem.ContentType {
			t.Errorf("%.40q gets %q, %v; want the problem %s", request, body, err, want.code)
		}
	}
}

// A part of a page may begin as a refusal does.
func TestPagesAreNoRefusals(t *testing.T) {
	t.Parallel()
	const headers = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
	for text, want := range map[string]bool{
		"HTTP/1.1 400 Bad Request" + headers + "400 Bad Request":    true,
		"HTTP/1.1 400 Bad Request" + headers + "</title></html>":    false,
		"HTTP/1.1 400" + headers + "400</html>":                     false,
		"HTTP/1.1 200 OK" + headers + "200 OK":                      false,
		"<p>HTTP/1.1 400 Bad Request" + headers + "400 Bad Request": false,
	} {
		if got := problem.Refusal([]byte(text)) != nil; got != want {
			t.Errorf("%q is a refusal: %t, want %t", text, got, want)
		}
	}
}
