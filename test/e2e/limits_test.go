package e2e

import (
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
)

// usage is the answer to GET /api/usage.
type usage struct {
	Videos       int64   `json:"videos"`
	Bytes        int64   `json:"bytes"`
	MinutesToday float64 `json:"minutesToday"`
	InWork       int64   `json:"inWork"`
	Limits       struct {
		MaxVideos        int64   `json:"maxVideos"`
		MaxBytes         int64   `json:"maxBytes"`
		MaxMinutesPerDay float64 `json:"maxMinutesPerDay"`
		MaxInWork        int64   `json:"maxInWork"`
	} `json:"limits"`
}

func TestLimitsOfATenant(t *testing.T) {
	t.Parallel()
	s := shared(t)
	set := func(limits ...string) {
		t.Helper()
		if out, err := s.command(append([]string{"tenants", "set", s.tenant}, limits...)...).CombinedOutput(); err != nil {
			t.Fatalf("spool tenants set %q: %v: %s", limits, err, out)
		}
	}
	file := clip(t, smallClip)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	set("--max-videos=1", "--max-bytes="+strconv.FormatInt(info.Size()-1, 10))
	u := s.create(tinyVideo)
	s.call("POST", "/api/video", tinyVideo).problem(t, http.StatusForbidden, "quota_exceeded")
	body, done, err := openSized(file)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	put := s.send("PUT", u.UploadURL, body, header{"Content-Type", u.ContentType})
	if onFleet() { // the bucket takes it, and the end of the upload does not
		put = s.tryComplete(u.ID)
	}
	put.problem(t, http.StatusForbidden, "quota_exceeded")

	set("--max-bytes=0")
	s.put(u, file)
	s.complete(u.ID)
	s.waitReady(u)
	got := s.call("GET", "/api/usage", nil)
	if !strings.HasPrefix(got.header.Get("RateLimit-Policy"), `"default";q=`) {
		t.Errorf("RateLimit-Policy is %q", got.header.Get("RateLimit-Policy"))
	}
	now := decode[usage](t, got, http.StatusOK)
	if now.Videos != 1 || now.Bytes != info.Size() || now.InWork != 0 || now.MinutesToday <= 0 || now.Limits.MaxVideos != 1 || now.Limits.MaxBytes != 0 {
		t.Errorf("the tenant uses %+v; want its video of %d bytes", now, info.Size())
	}
	if r := s.call("DELETE", "/api/video/"+u.ID, nil); r.status != http.StatusOK {
		t.Fatalf("DELETE answers %d %s", r.status, r.body)
	}
	after := decode[usage](t, s.call("GET", "/api/usage", nil), http.StatusOK)
	if after.Videos != 0 || after.Bytes != 0 || after.MinutesToday != now.MinutesToday {
		t.Errorf("after the deletion the tenant uses %+v; want its minutes of today", after)
	}
	s.create(tinyVideo)
}
