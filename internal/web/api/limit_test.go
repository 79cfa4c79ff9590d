package api

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/video"
)

func TestLimiter(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	l := newLimiter(2, false, func() time.Time { return now })
	for i := range 4 {
		if err := l.allow(limit.Principal{Tenant: "a"}, readsPerRequest, http.Header{}); err != nil {
			t.Fatalf("request %d of a burst of 4: %v", i+1, err)
		}
	}
	for range 3 { // rejected requests do not count
		e, ok := errors.AsType[*video.Error](l.allow(limit.Principal{Tenant: "a"}, readsPerRequest, http.Header{}))
		if !ok || e.Code != "rate_limited" || e.Kind != video.RateLimited || e.RetryAfter != time.Second {
			t.Fatalf("request beyond the burst = %v; want rate_limited, after a second", e)
		}
	}
	if err := l.allow(limit.Principal{Tenant: "b"}, readsPerRequest, http.Header{}); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	now = now.Add(500 * time.Millisecond)
	if err := l.allow(limit.Principal{Tenant: "a"}, readsPerRequest, http.Header{}); err != nil {
		t.Errorf("half a second later: %v", err)
	}
	if err := l.allow(limit.Principal{Tenant: "a"}, readsPerRequest, http.Header{}); err == nil {
		t.Error("half a second gave more than one request")
	}
}

func TestNoLimitByDefault(t *testing.T) {
	t.Parallel()
	l := newLimiter(0, false, time.Now)
	for range 1000 {
		if err := l.allow(limit.Principal{Tenant: "a"}, readsPerRequest, http.Header{}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLimitIsShown(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	for _, tt := range []struct {
		perSecond      float64
		policy         string
		first, refused string
	}{
		{2, `"default";q=4;w=2`, `"default";r=3;t=1`, `"default";r=0;t=2`},
		{0.1, `"default";q=1;w=10`, `"default";r=0;t=10`, `"default";r=0;t=10`},
	} {
		l := newLimiter(tt.perSecond, false, func() time.Time { return now })
		for n := 1; ; n++ {
			h := http.Header{}
			err := l.allow(limit.Principal{Tenant: "a"}, readsPerRequest, h)
			if got := h.Get("RateLimit-Policy"); got != tt.policy {
				t.Errorf("RateLimit-Policy is %s, want %s", got, tt.policy)
			}
			if got := h.Get("RateLimit"); n == 1 && got != tt.first || err != nil && got != tt.refused {
				t.Errorf("RateLimit of request %d is %s (%v); want %s at first, and %s at last", n, got, err, tt.first, tt.refused)
			}
			if err != nil {
				break
			}
		}
	}
}

func TestLimitIsShownInAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{RateLimit: 0.5})
	w := r.ask("GET", "/api/video", "")
	if w.Code != 200 || w.Header().Get("RateLimit") != `"default";r=0;t=2` {
		t.Errorf("the answer is %d with RateLimit %q", w.Code, w.Header().Get("RateLimit"))
	}
	w = r.ask("GET", "/api/video", "")
	wantProblem(t, w, 429, "rate_limited")
	if w.Header().Get("RateLimit") == "" || w.Header().Get("RateLimit-Policy") != `"default";q=1;w=2` || w.Header().Get("Retry-After") != "2" {
		t.Errorf("the refusal has %v", w.Header())
	}
	w = newRig(t, Config{}).ask("GET", "/api/video", "")
	if w.Header().Get("RateLimit") != "" || w.Header().Get("RateLimit-Policy") != "" {
		t.Errorf("without a limit there is %v", w.Header())
	}
}

func TestAReadOfAVideoMayCostLess(t *testing.T) {
	t.Parallel()
	read, report := request("GET", "/api/video/vid_x", ""), request("GET", "/api/video/vid_x/report", "")
	list, create := request("GET", "/api/video", ""), request("POST", "/api/video", "{}")
	for _, tt := range []struct {
		cheap  bool
		r      *http.Request
		within int // a burst of one request
	}{
		{true, read, readsPerRequest}, {true, report, 1}, {true, list, 1}, {true, create, 1}, {false, read, 1}, {false, list, 1},
	} {
		now := time.Unix(1000, 0)
		l := newLimiter(0.5, tt.cheap, func() time.Time { return now })
		n := 0
		for l.allow(limit.Principal{Tenant: "a"}, l.cost(tt.r), http.Header{}) == nil {
			n++
		}
		if n != tt.within {
			t.Errorf("with cheap reads %v, %d of %s %s are allowed; want %d", tt.cheap, n, tt.r.Method, tt.r.URL.Path, tt.within)
		}
	}
}

// All keys of a tenant have one limit: a client that makes keys gets no more with them.
func TestTheLimitIsOneOfTheTenant(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{RateLimit: 0.5})
	if w := r.ask("GET", "/api/usage", ""); w.Code != http.StatusOK {
		t.Fatalf("the first request gets %d", w.Code)
	}
	for range 3 {
		wantProblem(t, r.askAs(r.newKey(), "GET", "/api/usage", ""), http.StatusTooManyRequests, "rate_limited")
	}
	if w := r.askAs(r.newKeyOf("other"), "GET", "/api/usage", ""); w.Code != http.StatusOK {
		t.Errorf("another tenant gets %d", w.Code)
	}
}
