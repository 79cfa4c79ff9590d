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
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

// countedKeys counts how often a key is looked up, and can revoke all.
type countedKeys struct {
	*fakeService
	lookups int
	revoked bool
}

func (k *countedKeys) Authenticate(ctx context.Context, secret string) (auth.Actor, error) {
	k.lookups++
	if k.revoked {
		return auth.Actor{}, &video.Error{Kind: video.Unauthenticated, Code: "invalid_api_key", Msg: "This key is not valid."}
	}
	return k.fakeService.Authenticate(ctx, secret)
}

// A flood of a key that is over its limit costs a query a second, and not one for each request. A
// key that is revoked meanwhile hears of it a second later.
func TestAKeyOverItsLimitIsNotLookedUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeService{}
		keys, services := &countedKeys{fakeService: f}, f.services()
		services.Keys = keys
		var log bytes.Buffer
		a := New(services, Config{RateLimit: 0.5, Log: slog.New(slog.NewTextHandler(&log, nil))})
		h := problem.RequestID(slog.New(slog.DiscardHandler), a.InFrontOf(http.NotFoundHandler()))
		list := func(key string, want int) {
			t.Helper()
			r := request("GET", "/api/video", "")
			r.Header.Set(headerKey, key)
			if w := do(h, r); w.Code != want || want == http.StatusTooManyRequests && w.Header().Get("Retry-After") == "" {
				t.Fatalf("the answer is %d %v, want %d", w.Code, w.Header(), want)
			}
		}
		list(testKey, http.StatusOK)
		for range 1000 {
			list(testKey, http.StatusTooManyRequests)
		}
		if keys.lookups != 2 {
			t.Errorf("the key was looked up %d times, want 2", keys.lookups)
		}
		list(readKey, http.StatusOK) // another one has its own limit
		time.Sleep(2 * time.Second)
		list(testKey, http.StatusOK)
		list(testKey, http.StatusTooManyRequests)
		keys.revoked = true
		list(testKey, http.StatusTooManyRequests)
		time.Sleep(rejectionAge)
		list(testKey, http.StatusUnauthorized)
		if lines := strings.Count(log.String(), "more requests than rate_limit allows"); lines != 1 {
			t.Errorf("the log names the key %d times in a minute, want once:\n%s", lines, log.String())
		}
	})
}

// A client that goes on sending requests is slowed down: nobody can keep a core busy with refusals.
func TestAFloodIsSlowedDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeService{}
		h := problem.RequestID(slog.New(slog.DiscardHandler), New(f.services(), Config{RateLimit: 0.5}).InFrontOf(http.NotFoundHandler()))
		list := func(ctx context.Context, key string) (status int, took time.Duration) {
			r, began := request("GET", "/api/video", "").WithContext(ctx), time.Now()
			r.Header.Set(headerKey, key)
			return do(h, r).Code, time.Since(began)
		}
		for i := range quickRefusals + 2 { // the first is allowed, the second finds the key over its limit
			if _, took := list(t.Context(), testKey); took != 0 {
				t.Fatalf("request %d waits for %s", i, took)
			}
		}
		if status, took := list(t.Context(), testKey); status != http.StatusTooManyRequests || took != rejectionAge {
			t.Errorf("the next one gets %d after %s, want 429 after %s", status, took, rejectionAge)
		}
		for range quickRefusals + 2 {
			list(t.Context(), testKey)
		}
		if status, took := list(t.Context(), readKey); status != http.StatusOK || took != 0 {
			t.Errorf("meanwhile another key gets %d after %s", status, took)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if _, took := list(gone, testKey); took != 0 {
			t.Errorf("a client that has left is kept for %s", took)
		}
	})
}
