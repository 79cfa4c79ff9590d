package main

import (
	"context"
	"log/slog"
	"net/url"
	"strings"

	"github.com/spool-video/spool/internal/backend/tracing"
	"github.com/spool-video/spool/internal/metrics"
)

// The variables that every program with OpenTelemetry knows.
const (
	otlpEndpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	otlpHeaders  = "OTEL_EXPORTER_OTLP_HEADERS"
)

func isCollector(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.RawQuery == "" && u.Fragment == ""
}

// openTracing opens the traces; nil: the environment names no collector.
func openTracing(ctx context.Context, environ func(string) (string, bool), log *slog.Logger, m *metrics.Metrics) (*tracing.Tracing, error) {
	endpoint, _ := environ(otlpEndpoint)
	if endpoint != "" && !isCollector(endpoint) {
		return nil, &configError{[]string{otlpEndpoint + " is not a URL of OTLP over HTTP."}}
	}
	headers, _ := environ(otlpHeaders)
	return tracing.Open(ctx, tracing.Config{Endpoint: endpoint, Headers: parseHeaders(headers), Version: buildVersion(), Dropped: m.SpansDropped, Log: log})
}

// parseHeaders reads a list such as "key=value,other=value%20with%20spaces".
func parseHeaders(list string) map[string]string {
	headers := map[string]string{}
	for pair := range strings.SplitSeq(list, ",") {
		name, value, found := strings.Cut(pair, "=")
		if plain, err := url.PathUnescape(strings.TrimSpace(value)); found && err == nil {
			headers[strings.TrimSpace(name)] = plain
		}
	}
	return headers
}
