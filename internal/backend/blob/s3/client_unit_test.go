package s3

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/clock"
)

func TestIdleTimeout(t *testing.T) {
	t.Parallel()
	const limit = 2 * time.Second // a busy machine may be silent for a while, too
	for _, tt := range []struct {
		name   string
		handle http.HandlerFunc
		read   func(io.Reader) error // how the client reads; nil: all at once
		idle   bool
	}{
		{"a prompt server", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") }, nil, false},
		{"a silent server", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, nil, true},
		{"a server that falls silent", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, nil, true},
		{"a server that is slow, but not silent", func(w http.ResponseWriter, _ *http.Request) {
			for range 8 {
				_, _ = io.WriteString(w, "x")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(limit / 4)
			}
		}, nil, false},
		{"a client that is slow", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "xx") }, func(r io.Reader) error {
			for range 2 {
				if _, err := io.ReadFull(r, make([]byte, 1)); err != nil {
					return err
				}
				time.Sleep(limit + limit/4)
			}
			return nil
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // its context ends with the connection only after that
				tt.handle(w, r)
			}))
			defer server.Close()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL, strings.NewReader("body"))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := idleTimeout{server.Client(), limit}.Do(req)
			if err == nil {
				defer resp.Body.Close()
				if tt.read == nil {
					_, err = io.ReadAll(resp.Body)
				} else {
					err = tt.read(resp.Body)
				}
			}
			if idle, ok := errors.AsType[*idleError](err); ok != tt.idle || err != nil && !ok || ok && !idle.Timeout() {
				t.Errorf("the request ends with %v; want an idle timeout: %t", err, tt.idle)
			}
		})
	}
}

func TestDateClientSetsTheClock(t *testing.T) {
	t.Parallel()
	noon := time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
	at := func(moment time.Time) http.Header { return http.Header{"Date": {moment.Format(http.TimeFormat)}} }
	tests := []struct {
		name     string
		took     time.Duration
		response http.Header
		want     time.Duration // by how much the server's clock is ahead
	}{
		{"equal clocks", time.Second, at(noon), 0},
		{"a difference that may be the time of the response", time.Second, at(noon.Add(-2 * time.Second)), 0},
		{"a machine that is minutes late", time.Second, at(noon.Add(7 * time.Minute)), 7 * time.Minute},
		{"a machine that is minutes early", time.Second, at(noon.Add(-7 * time.Minute)), -7 * time.Minute},
		{"a response that took a minute", time.Minute, at(noon.Add(-time.Minute)), 0},
		{"a response from a cache", time.Second, http.Header{"Date": at(noon.Add(-time.Hour))["Date"], "Age": {"3600"}}, 0},
		{"a response without a date", time.Second, http.Header{}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := &clock.Clock{Local: func() time.Time { return noon }}
			dateClient{clock: c}.setClock(noon.Add(-tt.took), tt.response)
			if got := c.Now().Sub(noon); got != tt.want {
				t.Errorf("the server is ahead by %s; want %s", got, tt.want)
			}
		})
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	b := backoff{max: time.Second}
	for attempt, limit := range map[int]time.Duration{1: 200 * time.Millisecond, 2: 400 * time.Millisecond, 3: 800 * time.Millisecond, 4: time.Second, 100: time.Second} {
		for range 100 {
			if d := b.delay(attempt); d < limit/2 || d > limit {
				t.Errorf("Delay(%d) = %s; want %s to %s", attempt, d, limit/2, limit)
			}
		}
	}
}
