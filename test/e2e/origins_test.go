package e2e

import (
	"fmt"
	"net/http"
	"testing"
)

// TestAVideoForOneSite plays a video in a page of a site that may show it, in no page of another one, and in Spool's own.
func TestAVideoForOneSite(t *testing.T) {
	oneBackend(t, "what is allowed is decided before the storage is asked, and package delivery looks at buckets")
	t.Parallel()
	s := shared(t)
	u := s.publish(newVideo{Filename: "film.mp4", Resolutions: []string{"144p"}, IsPublic: true}, clip(t, tinyClip))
	allow := func(site string) {
		t.Helper()
		got := decode[struct{ AllowedOrigins []string }](t, s.call("PATCH", "/api/video/"+u.ID, fmt.Sprintf(`{"allowedOrigins":[%q]}`, site)), http.StatusOK)
		if len(got.AllowedOrigins) != 1 || got.AllowedOrigins[0] != site {
			t.Errorf("%s is kept as %q", site, got.AllowedOrigins)
		}
	}
	v := newVisitor(t, s)
	v.wantFrameOn(u.EmbedURL+"?autoplay=1&muted=1&loop=1", true, allow)
	v.wantFrameOn(u.EmbedURL+"?autoplay=1&muted=1", false, func(string) { allow("example.com") })
	v = newVisitor(t, s)
	v.visit(u.WatchURL + "?autoplay=1&muted=1")
	v.waitPlaying()

	s.send("GET", u.HLSURL, nil).problem(t, http.StatusForbidden, "origin_not_allowed")
	s.send("GET", u.HLSURL, nil, header{"Origin", "https://evil.example"}).problem(t, http.StatusForbidden, "origin_not_allowed")
	if r := s.send("GET", u.HLSURL, nil, header{"Referer", "https://example.com/page"}); r.status != http.StatusOK {
		t.Errorf("a page of the site is answered %d %s", r.status, r.body)
	}
	s.call("PATCH", "/api/video/"+u.ID, `{"allowedOrigins":["example.com","a b","*"],"allowNoOrigin":1}`).problem(t, http.StatusBadRequest, "invalid_request")
	decode[upload](t, s.call("PATCH", "/api/video/"+u.ID, `{"allowedOrigins":null}`), http.StatusOK)
	if r := s.send("GET", u.HLSURL, nil); r.status != http.StatusOK {
		t.Errorf("open to all again, the playlist is answered %d", r.status)
	}
}
