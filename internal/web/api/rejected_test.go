package api

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/service/auth"
)

// A flood of a key that is over its limit costs a query a second, and not one for each request. A
// key that is revoked meanwhile hears of it a second later.
func TestAKeyOverItsLimitIsNotLookedUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		r := newRig(t, Config{RateLimit: 0.5, Log: slog.New(slog.NewTextHandler(&log, nil))})
		secret, key, err := r.Keys.Create(t.Context(), auth.Key{Tenant: "busy"})
		r.Must(err)
		list := func(key string, want int) {
			t.Helper()
			w := r.askAs(key, "GET", "/api/video", "")
			if w.Code != want || want == http.StatusTooManyRequests && w.Header().Get("Retry-After") == "" {
				t.Fatalf("the answer is %d %v, want %d", w.Code, w.Header(), want)
			}
		}
		list(secret, http.StatusOK)
		for range 1000 {
			list(secret, http.StatusTooManyRequests)
		}
		list(r.key, http.StatusOK) // another tenant has its own limit
		time.Sleep(2 * time.Second)
		list(secret, http.StatusOK)
		list(secret, http.StatusTooManyRequests)
		r.Must(r.Keys.Revoke(t.Context(), key.ID))
		list(secret, http.StatusTooManyRequests) // it is not looked up
		time.Sleep(rejectionAge)
		list(secret, http.StatusUnauthorized)
		if lines := strings.Count(log.String(), "more requests than rate_limit allows"); lines != 1 {
			t.Errorf("the log names the key %d times in a minute, want once:\n%s", lines, log.String())
		}
	})
}

// A client that goes on sending requests is slowed down: nobody can keep a core busy with refusals.
func TestAFloodIsSlowedDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{RateLimit: 0.5})
		other := r.newKeyOf("other")
		list := func(ctx context.Context, key string) (status int, took time.Duration) {
			q, began := request("GET", "/api/video", "").WithContext(ctx), time.Now()
			q.Header.Set(headerKey, key)
			return r.send(q).Code, time.Since(began)
		}
		for i := range quickRefusals + 2 { // the first is allowed, the second finds the key over its limit
			if _, took := list(t.Context(), r.key); took != 0 {
				t.Fatalf("request %d waits for %s", i, took)
			}
		}
		if status, took := list(t.Context(), r.key); status != http.StatusTooManyRequests || took != rejectionAge {
			t.Errorf("the next one gets %d after %s, want 429 after %s", status, took, rejectionAge)
		}
		for range quickRefusals + 2 {
			list(t.Context(), r.key)
		}
		if status, took := list(t.Context(), other); status != http.StatusOK || took != 0 {
			t.Errorf("meanwhile another tenant gets %d after %s", status, took)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if _, took := list(gone, r.key); took != 0 {
			t.Errorf("a client that has left is kept for %s", took)
		}
	})
}
