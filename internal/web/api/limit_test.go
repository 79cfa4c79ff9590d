package api

import (
	"errors"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/video"
)

func TestLimiter(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	l := &limiter{perSecond: 2, now: func() time.Time { return now }}
	for i := range 4 {
		if err := l.allow("a"); err != nil {
			t.Fatalf("request %d of a burst of 4: %v", i+1, err)
		}
	}
	for range 3 { // rejected requests do not count
		e, ok := errors.AsType[*video.Error](l.allow("a"))
		if !ok || e.Code != "rate_limited" || e.Kind != video.RateLimited || e.RetryAfter != time.Second {
			t.Fatalf("request beyond the burst = %v; want rate_limited, after a second", e)
		}
	}
	if err := l.allow("b"); err != nil {
		t.Errorf("another key: %v", err)
	}
	now = now.Add(500 * time.Millisecond)
	if err := l.allow("a"); err != nil {
		t.Errorf("half a second later: %v", err)
	}
	if err := l.allow("a"); err == nil {
		t.Error("half a second gave more than one request")
	}
}

func TestNoLimitByDefault(t *testing.T) {
	t.Parallel()
	l := new(limiter)
	for range 1000 {
		if err := l.allow("a"); err != nil {
			t.Fatal(err)
		}
	}
}
