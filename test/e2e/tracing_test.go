package e2e

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// TestOneTraceFromUploadToFFmpeg has a collector receive what a server traces while it makes a video:
// the request that completes the upload, the tasks that follow, and their executions of ffmpeg.
func TestOneTraceFromUploadToFFmpeg(t *testing.T) {
	t.Parallel()
	c := newSpanCollector(t)
	s := start(t, withEnv("OTEL_EXPORTER_OTLP_ENDPOINT", c.url), withEnv("OTEL_BSP_SCHEDULE_DELAY", "200"))
	u := s.submit(newVideo{Filename: "secret-name.mp4", Resolutions: []string{"144p"}, IsPublic: true}, clip(t, miniClip))
	s.waitReady(u)
	missing := ""
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if missing = missingIn(c.spans()); missing == "" {
			break
		}
	}
	if missing != "" {
		t.Error(missing)
	}
	for _, span := range c.spans() {
		if text := span.String(); strings.Contains(text, "secret-name") || strings.Contains(text, s.key) || strings.Contains(text, "://") {
			t.Errorf("a span tells too much: %s", text)
		}
	}
}

// missingIn says what a trace of the completion of an upload lacks.
func missingIn(spans []*otlp.Span) string {
	var root *otlp.Span
	byID := map[string]*otlp.Span{}
	for _, span := range spans {
		byID[string(span.SpanId)] = span
		if span.Name == "POST /api/video/{id}/complete-upload" {
			root = span
		}
	}
	if root == nil {
		return "the request was not traced"
	}
	found := map[string]bool{}
	for _, span := range spans {
		if string(span.TraceId) != string(root.TraceId) {
			continue
		}
		above := span
		for above != nil && above != root {
			above = byID[string(above.ParentSpanId)]
		}
		if above == nil {
			return span.Name + " does not follow from the request"
		}
		found[span.Name] = true
	}
	for _, name := range []string{"task inspect", "task encode", "task assemble", "ffmpeg", "ffprobe"} {
		if !found[name] {
			return "the trace has no " + name
		}
	}
	return ""
}

// spanCollector receives traces.
type spanCollector struct {
	url string
	mu  sync.Mutex
	all []*otlp.Span
}

func newSpanCollector(t *testing.T) *spanCollector {
	t.Helper()
	c := &spanCollector{}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var message otlp.TracesData
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Errorf("the body is not compressed: %v", err)
			return
		}
		body, err := io.ReadAll(z)
		if err := errors.Join(err, proto.Unmarshal(body, &message)); err != nil {
			t.Errorf("the body is no OTLP: %v", err)
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

func (c *spanCollector) spans() []*otlp.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}
