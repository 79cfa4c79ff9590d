package s3test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"
)

// Forward returns a handler that passes requests on to the server, for tests that put
// a proxy between it and its clients to inject errors. When the server breaks a
// connection, the handler breaks its own.
func (s *Server) Forward(t testing.TB) http.Handler {
	t.Helper()
	target, err := url.Parse(s.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // it is signed
		},
		FlushInterval: -1,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
}

// Refuse responds with an error as S3 does.
func Refuse(w http.ResponseWriter, r *http.Request, status int, code string) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = io.WriteString(w, "<Error><Code>"+code+"</Code><Message>by the test</Message></Error>")
	}
}

// Swallow has next handle the request, and drops the response.
func Swallow(_ http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// Trickle returns a writer that pauses before each write to w.
func Trickle(w http.ResponseWriter, pause time.Duration) http.ResponseWriter {
	return &trickle{w, pause}
}

type trickle struct {
	http.ResponseWriter
	pause time.Duration
}

func (t *trickle) Unwrap() http.ResponseWriter { return t.ResponseWriter }

func (t *trickle) Write(p []byte) (int, error) {
	time.Sleep(t.pause)
	return t.ResponseWriter.Write(p)
}
