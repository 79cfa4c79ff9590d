package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// sender sends spans to a collector, as OTLP over HTTP. The module's own client would bring gRPC into
// the program, which is larger than everything else here.
type sender struct {
	url     string
	headers map[string]string
	client  *http.Client
}

func newSender(c Config) *sender {
	// A redirect must not get the headers, which may hold a key.
	client := &http.Client{Timeout: exportTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &sender{strings.TrimSuffix(c.Endpoint, "/") + "/v1/traces", c.Headers, client}
}

// Start implements otlptrace.Client.
func (*sender) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (s *sender) Stop(context.Context) error { s.client.CloseIdleConnections(); return nil }

// UploadTraces implements otlptrace.Client. TracesData is, on the wire, what a collector calls an
// ExportTraceServiceRequest.
func (s *sender) UploadTraces(ctx context.Context, spans []*otlp.ResourceSpans) error {
	message, err := proto.Marshal(&otlp.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	_, _ = z.Write(message) // a buffer takes everything
	_ = z.Close()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, &body)
	if err != nil {
		return err
	}
	for name, value := range s.headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("Content-Encoding", "gzip")
	res, err := s.client.Do(r)
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err // without the address, which may hold a password
	}
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection can be used again
	if res.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("the collector answers with status %d", res.StatusCode)
	}
	return nil
}

// gate lets no more spans wait than there is room for, so that each that is dropped is counted: the
// processor behind it would drop them without a word.
type gate struct {
	sdk.SpanProcessor
	waiting atomic.Int64
	dropped func(int)
	failing atomic.Bool
}

// OnEnd implements sdktrace.SpanProcessor.
func (g *gate) OnEnd(s sdk.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	if g.waiting.Add(1) > maxWaiting {
		g.waiting.Add(-1)
		g.dropped(1)
		return
	}
	g.SpanProcessor.OnEnd(s)
}

// counted is an exporter that counts what it cannot send, and logs the first failure of several.
type counted struct {
	sdk.SpanExporter
	gate *gate
	log  *slog.Logger
}

// ExportSpans implements sdktrace.SpanExporter. It counts and logs errors itself, and returns none.
func (c counted) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	ctx, cancel := context.WithTimeout(ctx, exportTimeout)
	defer cancel()
	began := time.Now()
	err := c.SpanExporter.ExportSpans(ctx, spans)
	c.gate.waiting.Add(-int64(len(spans)))
	if err != nil {
		c.gate.dropped(len(spans))
	}
	if c.gate.failing.Swap(err != nil) != (err != nil) && err != nil {
		c.log.Warn("traces cannot be sent, and are dropped until the collector answers", "err", err, "after", time.Since(began))
	}
	return nil
}
