package tracing_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/local"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/tracing"
	"github.com/spool-video/spool/internal/video"
)

// collector receives traces as a real one does.
type collector struct {
	url string
	mu  sync.Mutex
	all []*otlp.Span
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var message otlp.TracesData
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		body, err := io.ReadAll(z)
		if err := errors.Join(err, proto.Unmarshal(body, &message)); err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" || r.Header.Get("X-Key") != "k" {
			t.Errorf("a request to %s with %v: %v", r.URL, r.Header, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, rs := range message.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				c.all = append(c.all, ss.Spans...)
			}
		}
	}))
	t.Cleanup(s.Close)
	c.url = s.URL
	return c
}

// byName returns the spans that have arrived.
func (c *collector) byName() map[string]*otlp.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	spans := map[string]*otlp.Span{}
	for _, s := range c.all {
		spans[s.Name] = s
	}
	return spans
}

func open(t *testing.T, url string, dropped func(int)) *tracing.Tracing {
	t.Helper()
	tr, err := tracing.Open(t.Context(), tracing.Config{Endpoint: url, Headers: map[string]string{"X-Key": "k"}, Version: "1.2.3", Dropped: dropped, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// A request, a task that runs in another process and fails once, a task that follows from it, and an
// execution of ffmpeg are one trace.
func TestATraceGoesFromTheRequestToFFmpeg(t *testing.T) {
	t.Parallel()
	receiver := newCollector(t)
	var lost atomic.Int64
	drop := func(n int) { lost.Add(int64(n)) }
	api, worker := open(t, receiver.url, drop), open(t, receiver.url, drop)
	st, err := store.OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	if err := st.Migrate(t.Context(), "queue", local.Migrations); err != nil {
		t.Fatal(err)
	}
	rows := local.New(st.Writer(), local.Options{})
	enqueue := func(ctx context.Context, q queue.Queue, k queue.Kind) error {
		return st.InTx(ctx, func(tx *store.Tx) error { return q.Enqueue(ctx, tx, queue.Task{Kind: k, Video: "v"}) })
	}
	h := api.Requests(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := enqueue(r.Context(), api.Queue(rows), queue.Inspect); err != nil {
			t.Error(err)
		}
		tracing.Answered(r.Context(), r.Method, "/api/video/{id}/complete-upload", 201)
	}))
	r := httptest.NewRequest("POST", "/api/video/x/complete-upload?token=secret-token", strings.NewReader(""))
	r.Header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	h.ServeHTTP(httptest.NewRecorder(), r)

	done := make(chan struct{})
	q := worker.Queue(rows)
	err = q.Start(t.Context(), queue.Encoding(1, func(ctx context.Context, task queue.Task) error {
		switch {
		case task.Attempt == 1 && task.Kind == queue.Inspect:
			return errors.New("https://bucket/?signature=secret-signature")
		case task.Kind == queue.Inspect:
			return enqueue(ctx, q, queue.Encode)
		}
		tracing.Ran(ctx, video.Execution{Program: "ffmpeg", Arguments: []string{"secret-argument"}, StartedAt: time.Now(), Wall: time.Second, CPU: 2 * time.Second, Result: video.ExecutionOK})
		close(done)
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	<-done
	if err := q.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer api.Close(t.Context())
	defer worker.Close(t.Context())

	spans := receiver.byName()
	for deadline := time.Now().Add(time.Minute); len(spans) < 4 && time.Now().Before(deadline); spans = receiver.byName() {
		time.Sleep(50 * time.Millisecond)
	}
	parent := "\xb7\xad\x6b\x71\x69\x20\x33\x31"
	for _, name := range []string{"POST /api/video/{id}/complete-upload", "task inspect", "task encode", "ffmpeg"} {
		s := spans[name]
		if s == nil || string(s.TraceId) != "\x0a\xf7\x65\x19\x16\xcd\x43\xdd\x84\x48\xeb\x21\x1c\x80\x31\x9c" || string(s.ParentSpanId) != parent {
			t.Fatalf("%s is %v, want it below %x; there are %v", name, s, parent, spans)
		}
		parent = string(s.SpanId)
		if strings.Contains(s.String(), "secret") {
			t.Errorf("%s tells a secret: %v", name, s)
		}
	}
	if lost.Load() != 0 {
		t.Errorf("%d spans were dropped", lost.Load())
	}
}

// A collector that is not there costs nobody anything.
func TestACollectorThatIsGoneOnlyLosesSpans(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{"nobody listens": "http://127.0.0.1:1", "it never answers": hanging(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lost atomic.Int64
			tr := open(t, url, func(n int) { lost.Add(int64(n)) })
			const spans = 10_000
			h := tr.Requests(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			began := time.Now()
			for range spans {
				h.ServeHTTP(nil, httptest.NewRequest("GET", "/api/key", nil))
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("%d requests took %v", spans, took)
			}
			if lost.Load() < spans-3000 {
				t.Errorf("%d of %d spans were dropped: more wait than may", lost.Load(), spans)
			}
			tr.Close(t.Context())
		})
	}
}

// The headers may hold a key, which is for the collector alone.
func TestARedirectGetsNothing(t *testing.T) {
	t.Parallel()
	var asked, lost atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer other.Close()
	s := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer s.Close()
	tr := open(t, s.URL, func(n int) { lost.Add(int64(n)) })
	defer tr.Close(t.Context())
	h := tr.Requests(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for range 600 { // more than are waited for before they are sent
		h.ServeHTTP(nil, httptest.NewRequest("GET", "/api/key", nil))
	}
	for end := time.Now().Add(time.Minute); lost.Load() == 0 && asked.Load() == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing is sent")
		}
	}
	if asked.Load() > 0 {
		t.Error("a redirect was followed")
	}
}

func hanging(t *testing.T) string {
	t.Helper()
	end := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-end:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(end); s.Close() })
	return s.URL
}

func TestWithoutACollectorNothingIsTraced(t *testing.T) {
	t.Parallel()
	tr, err := tracing.Open(t.Context(), tracing.Config{})
	if tr != nil || err != nil {
		t.Fatalf("%v, %v", tr, err)
	}
	q := local.New(nil, local.Options{})
	if tr.Queue(q) != queue.Queue(q) {
		t.Error("the queue is wrapped")
	}
	tr.Close(t.Context())
}
