package s3_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob/s3"
	"github.com/spool-video/spool/internal/backend/blob/s3/s3test"
)

// proxy stands between a store and the server, counts the requests by operation,
// and spoils those that a test wants spoilt.
type proxy struct {
	*httptest.Server
	forward http.Handler

	mu    sync.Mutex
	count map[string]int
	spoil func(op string, n int) spoiler
}

// spoiler handles a request badly; next would handle it well.
type spoiler func(w http.ResponseWriter, r *http.Request, next http.Handler)

func newProxy(t *testing.T, server *s3test.Server) *proxy {
	t.Helper()
	p := &proxy{count: make(map[string]int), forward: server.Forward(t)}
	p.Server = httptest.NewServer(http.HandlerFunc(p.handle))
	t.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
	})
	return p
}

func (p *proxy) handle(w http.ResponseWriter, r *http.Request) {
	op := operation(r)
	p.mu.Lock()
	p.count[op]++
	var spoil spoiler
	if p.spoil != nil {
		spoil = p.spoil(op, p.count[op])
	}
	p.mu.Unlock()
	if spoil != nil {
		spoil(w, r, p.forward)
		return
	}
	p.forward.ServeHTTP(w, r)
}

// operation names what a request asks for.
func operation(r *http.Request) string {
	q := r.URL.Query()
	switch {
	case r.Method == http.MethodPost && q.Has("uploads"):
		return "begin"
	case r.Method == http.MethodPost && q.Has("uploadId"):
		return "complete"
	case r.Method == http.MethodPost && q.Has("delete"):
		return "delete"
	case r.Method == http.MethodDelete && q.Has("uploadId"):
		return "abort"
	case r.Method == http.MethodPut && r.Header.Get("X-Amz-Copy-Source") != "":
		return "copy"
	case r.Method == http.MethodPut && q.Has("partNumber"):
		return "part"
	case r.Method == http.MethodGet && q.Has("list-type"):
		return "list"
	}
	return strings.ToLower(r.Method)
}

// spoilWith sets what is spoilt from now on, and forgets what was counted.
func (p *proxy) spoilWith(spoil func(op string, n int) spoiler) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spoil = spoil
	clear(p.count)
}

// reset forgets what was counted, and spoils nothing.
func (p *proxy) reset() { p.spoilWith(nil) }

// counted returns how many requests there were for each operation.
func (p *proxy) counted() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	count := make(map[string]int)
	for op, n := range p.count {
		count[op] = n
	}
	return count
}

// behind returns a store that reaches the server through a proxy.
func behind(t *testing.T, server *s3test.Server) (*s3.Store, *proxy) {
	t.Helper()
	p := newProxy(t, server)
	s := open(t, server, through(p, server.URL(server.Bucket(t), "spool"), server))
	p.reset()
	return s, p
}

func through(p *proxy, storageURL string, server *s3test.Server) string {
	return strings.Replace(storageURL, server.Endpoint, p.URL, 1)
}

// answer sends an error as S3 does.
func answer(status int, code string) spoiler {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) { s3test.Refuse(w, r, status, code) }
}

// forge answers a read with so many zeros and these headers, whatever the
// conditions of the request are.
func forge(status int, contentRange, etag string, n int) spoiler {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("ETag", `"`+etag+`"`)
		if contentRange != "" {
			w.Header().Set("Content-Range", contentRange)
		}
		w.Header().Set("Content-Length", strconv.Itoa(n))
		w.WriteHeader(status)
		_, _ = w.Write(make([]byte, n))
	}
}

// cut breaks the connection after so many bytes of the answer's body.
func cut(after int) spoiler {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&cutting{w, after}, r)
	}
}

type cutting struct {
	http.ResponseWriter
	left int
}

func (c *cutting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *cutting) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p[:min(len(p), c.left)])
	if c.left -= n; c.left == 0 {
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}

// hangUp breaks the connection after so many bytes of the request's body.
func hangUp(after int64) spoiler {
	return func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.CopyN(io.Discard, r.Body, after)
		panic(http.ErrAbortHandler)
	}
}

// hang never answers.
func hang(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// trickle answers a little at a time, with pauses.
func trickle(pause time.Duration) spoiler {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(s3test.Trickle(w, pause), r)
	}
}

// first spoils the first n requests of an operation.
func first(op string, n int, s spoiler) func(string, int) spoiler {
	return func(o string, i int) spoiler {
		if o == op && i <= n {
			return s
		}
		return nil
	}
}

// always spoils all requests of an operation.
func always(op string, s spoiler) func(string, int) spoiler { return first(op, 1<<30, s) }

// inTurns keeps reads apart from writes, from the request until the answer's
// first byte. S3 promises that an answer describes the bytes it carries;
// versitygw looks up the ETag and opens the file one after the other, so that
// of 240 reads beside writers one carried the ETag, and passed the conditions,
// of a version whose bytes it did not have.
func inTurns() func(string, int) spoiler {
	var turn sync.RWMutex
	return func(op string, _ int) spoiler {
		if op == "get" || op == "head" || op == "list" {
			return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				turn.RLock()
				answer := &answering{ResponseWriter: w, begun: sync.OnceFunc(turn.RUnlock)}
				defer answer.begun()
				next.ServeHTTP(answer, r)
			}
		}
		return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			body, err := io.ReadAll(r.Body) // its writer may be a reader too
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			turn.Lock()
			defer turn.Unlock()
			next.ServeHTTP(w, r)
		}
	}
}

// answering tells when an answer begins.
type answering struct {
	http.ResponseWriter
	begun func()
}

func (a *answering) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answering) WriteHeader(status int) {
	a.begun()
	a.ResponseWriter.WriteHeader(status)
}
