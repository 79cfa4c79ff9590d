package api

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/video"
)

// Every key may know itself, whatever else it may do.
func TestKey(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		testKey:  `{"id":"k1","tenant":"default","scopes":["read","write","delete","admin"]}`,
		writeKey: `{"id":"k3","tenant":"default","scopes":["write"]}`,
	} {
		r := request("GET", "/api/key", "")
		r.Header.Set(headerKey, key)
		if w := do(newHandler(t, &fakeService{}, Config{}), r); w.Code != 200 || strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("%s is %d %s, want %s", key, w.Code, w.Body, want)
		}
	}
}

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
