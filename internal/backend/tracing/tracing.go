// Package tracing writes traces for OpenTelemetry: a request to the API, the tasks that follow from
// it, whichever process runs them, and each execution of ffmpeg. It is off unless a collector is
// configured; then a nil *Tracing does nothing.
//
// A collector that is slow, or gone, delays no work: spans wait in a queue of limited length, and what
// does not fit or cannot be sent is dropped and counted. Spans have no URLs, error texts or names of
// files, because these may contain signatures and secrets.
package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spool-video/spool/internal/video"
)

// Config says where traces go.
type Config struct {
	Endpoint string            // of a collector that takes OTLP over HTTP, such as http://127.0.0.1:4318; empty: no traces
	Headers  map[string]string // sent with each request, such as a key
	Version  string            // of this program
	Dropped  func(spans int)   // is told of spans that were not sent
	Log      *slog.Logger
}

// Tracing makes spans and sends them.
type Tracing struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	carry    propagation.TraceContext
}

const (
	maxWaiting    = 2048 // spans
	exportTimeout = 10 * time.Second
	// closeTimeout is how long the end of a process may be delayed for the last spans.
	closeTimeout = time.Second
)

// Open begins to send what is traced from now on. It returns nil if there is no endpoint.
func Open(ctx context.Context, c Config) (*Tracing, error) {
	if c.Endpoint == "" {
		return nil, nil
	}
	out, err := otlptrace.New(ctx, newSender(c))
	if err != nil {
		return nil, fmt.Errorf("open the tracing: %w", err)
	}
	// The environment may name the service otherwise (OTEL_SERVICE_NAME), or add to it.
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "spool"), attribute.String("service.version", c.Version)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("open the tracing: %w", err)
	}
	g := &gate{dropped: c.Dropped}
	g.SpanProcessor = sdk.NewBatchSpanProcessor(counted{out, g, c.Log}, sdk.WithMaxQueueSize(maxWaiting), sdk.WithExportTimeout(exportTimeout))
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(g), sdk.WithResource(about))
	return &Tracing{provider: provider, tracer: provider.Tracer("spool")}, nil
}

// Close sends what waits, if that takes no more than a moment.
func (t *Tracing) Close(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // spans that are not sent are counted
}

// Requests traces the requests of next to the API. Event streams last for hours, so they are left out.
func (t *Tracing) Requests(next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/api/") || strings.HasSuffix(r.URL.Path, "/events") {
			next.ServeHTTP(w, r)
			return
		}
		ctx := t.carry.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		ctx, span := t.tracer.Start(ctx, "request", trace.WithSpanKind(trace.SpanKindServer))
		defer span.End()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Answered names the span of a request. route is the pattern that it matched, never its path.
func Answered(ctx context.Context, method, route string, status int) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	span.SetName(method + " " + route)
	span.SetAttributes(attribute.String("http.request.method", method), attribute.String("http.route", route), attribute.Int("http.response.status_code", status))
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
}

// Ran adds an execution of ffmpeg that has just ended to the span of its task.
func Ran(ctx context.Context, e video.Execution) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return
	}
	_, span := parent.TracerProvider().Tracer("spool").Start(ctx, e.Program, trace.WithTimestamp(e.StartedAt), trace.WithAttributes(
		attribute.String("process.executable.name", e.Program), attribute.Float64("spool.cpu_seconds", e.CPU.Seconds()),
		attribute.Int64("spool.memory_bytes", e.Memory), attribute.String("spool.result", e.Result)))
	if e.Result != video.ExecutionOK {
		span.SetStatus(codes.Error, e.Result)
	}
	span.End(trace.WithTimestamp(e.StartedAt.Add(e.Wall)))
}
