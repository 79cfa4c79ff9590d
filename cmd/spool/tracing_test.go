package main

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/metrics"
)

func TestTracingIsOffUnlessConfigured(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		endpoint    string
		on, refused bool
	}{
		{"", false, false},
		{"http://127.0.0.1:4318", true, false},
		{"https://c.example/otlp", true, false},
		{"rubbish", false, true},
		{"127.0.0.1:4318", false, true},
		{"ftp://x", false, true},
		{"http://x?key=1", false, true},
		{"ftp://spool:hunter2@x", false, true},
		{"http://spool:hun/ter2@x", false, true},
	} {
		t.Run(tt.endpoint, func(t *testing.T) {
			t.Parallel()
			environ := func(name string) (string, bool) {
				return map[string]string{otlpEndpoint: tt.endpoint}[name], true
			}
			traces, err := openTracing(t.Context(), environ, slog.New(slog.DiscardHandler), metrics.New("test"))
			t.Cleanup(func() { traces.Close(context.Background()) }) // nil is fine
			if (traces != nil) != tt.on || (err != nil) != tt.refused {
				t.Errorf("tracing: %v, error: %v; want %v and %v", traces != nil, err, tt.on, tt.refused)
			}
			if err != nil && strings.Contains(err.Error(), "ter2") {
				t.Errorf("the error shows a password: %v", err)
			}
		})
	}
}

func TestHeadersOfTheCollector(t *testing.T) {
	t.Parallel()
	want := map[string]string{"api-key": "secret", "x": "a b=c"}
	if diff := cmp.Diff(want, parseHeaders("api-key=secret, x=a%20b=c,rubbish")); diff != "" {
		t.Error(diff)
	}
}
