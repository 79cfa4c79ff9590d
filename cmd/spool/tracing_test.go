package main

import (
	"context"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/web/metrics"
)

func TestTracingIsOffUnlessConfigured(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, setting, variable string
		on, refused             bool
	}{
		{name: "nothing"},
		{name: "the setting", setting: "http://127.0.0.1:4318", on: true},
		{name: "the standard variable", variable: "http://127.0.0.1:4318", on: true},
		{name: "the setting counts first", setting: "http://127.0.0.1:4318", variable: "rubbish", on: true},
		{name: "a variable that is no URL", variable: "rubbish", refused: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := &Config{OTLPEndpoint: tt.setting}
			environ := func(name string) (string, bool) {
				return map[string]string{otlpEndpoint: tt.variable}[name], true
			}
			traces, err := c.openTracing(t.Context(), environ, slog.New(slog.DiscardHandler), metrics.New("test"))
			t.Cleanup(func() { traces.Close(context.Background()) }) // nil is fine
			if (traces != nil) != tt.on || (err != nil) != tt.refused {
				t.Errorf("tracing: %v, error: %v; want %v and %v", traces != nil, err, tt.on, tt.refused)
			}
		})
	}
	for address, fine := range map[string]bool{"": true, "https://c.example/otlp": true, "127.0.0.1:4318": false, "ftp://x": false, "http://x?key=1": false} {
		if faults := (&Config{OTLPEndpoint: address}).tracingFaults(); (len(faults) == 0) != fine {
			t.Errorf("otlp_endpoint %q has the faults %q", address, faults)
		}
	}
}

func TestHeadersOfTheCollector(t *testing.T) {
	t.Parallel()
	want := map[string]string{"api-key": "secret", "x": "a b=c"}
	if diff := cmp.Diff(want, parseHeaders("api-key=secret, x=a%20b=c,rubbish")); diff != "" {
		t.Error(diff)
	}
}
