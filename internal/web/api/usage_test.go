package api

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/video"
)

func TestUsage(t *testing.T) {
	t.Parallel()
	f := &fakeService{usage: video.Usage{
		Videos: 3, Bytes: 1 << 40, LengthToday: 93*time.Minute + 15*time.Second, InWork: 2,
		Limits: video.Limits{Videos: 10, Bytes: 1 << 41, MinutesPerDay: 100.5, InWork: 4},
	}}
	var got, want any
	if err := json.Unmarshal(do(newHandler(t, f, Config{}), request("GET", "/api/usage", "")).Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal([]byte(`{"videos": 3, "bytes": 1099511627776, "minutesToday": 93.25, "inWork": 2,
		"limits": {"maxVideos": 10, "maxBytes": 2199023255552, "maxMinutesPerDay": 100.5, "maxInWork": 4}}`), &want)
	if diff := cmp.Diff(want, got); diff != "" || f.actor.KeyID != "k1" {
		t.Errorf("usage of %s (-want +got):\n%s", f.actor.KeyID, diff)
	}
}

func TestTenants(t *testing.T) {
	t.Parallel()
	f := &fakeService{usage: video.Usage{Videos: 3, Limits: video.Limits{Videos: 10}}, next: someCursor}
	h := newHandler(t, f, Config{})
	const want = `{"tenants":[{"name":"acme","videos":3,"bytes":0,"minutesToday":0,"inWork":0,` +
		`"limits":{"maxVideos":10,"maxBytes":0,"maxMinutesPerDay":0,"maxInWork":0}}],"nextCursor":"YWNtZQ"}`
	if w := do(h, request("GET", "/api/tenant?limit=7&cursor=YWNtZQ", "")); w.Code != 200 || strings.TrimSpace(w.Body.String()) != want {
		t.Errorf("answer is %d %s, want %s", w.Code, w.Body, want)
	}
	if f.actor.KeyID != "k1" || f.tenant != "acme" || f.limit != 7 {
		t.Errorf("asked by %s for %d after %q", f.actor.KeyID, f.limit, f.tenant)
	}
	for _, query := range []string{"limit=0", "cursor=", "cursor=YWNtZR", "cursor=%20", "cursor=AA", "cursor=_w", "cursor=" + strings.Repeat("YWNt", 34)} {
		wantProblem(t, do(h, request("GET", "/api/tenant?"+query, "")), 400, "invalid_request")
	}
}
