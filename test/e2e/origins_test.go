package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/spool-video/spool/client"
)

// TestAVideoForOneSite plays a video in a page of a site that may show it, in no page of another one, and in Spool's own.
func TestAVideoForOneSite(t *testing.T) {
	oneBackend(t, "what is allowed is decided before the storage is asked, and package delivery looks at buckets")
	t.Parallel()
	s := shared(t)
	u := s.publish(newVideo{Filename: "film.mp4", Resolutions: []string{"144p"}, IsPublic: true}, clip(t, tinyClip))
	allow := func(list string) {
		t.Helper()
		got := decode[struct{ AllowedOrigins json.RawMessage }](t, s.call("PATCH", "/api/video/"+u.ID, `{"allowedOrigins":`+list+`}`), http.StatusOK)
		if string(got.AllowedOrigins) != list {
			t.Errorf("%s is kept as %s", list, got.AllowedOrigins)
		}
	}
	listed, unlisted := func(site string) { allow(fmt.Sprintf("[%q]", site)) }, func(string) { allow(`["example.com"]`) }
	v := newVisitor(t, s)
	v.wantFrameOn(u.EmbedURL+"?autoplay=1&muted=1&loop=1", true, listed)
	v.wantFrameOn(u.EmbedURL+"?autoplay=1&muted=1", false, unlisted)
	v.wantStream(u, true, listed)
	v.wantStream(u, false, unlisted)
	v = newVisitor(t, s)
	v.visit(u.WatchURL + "?autoplay=1&muted=1")
	v.waitPlaying()

	allow("[]")
	link, err := s.client().CreateShare(t.Context(), u.ID, client.NewShare{})
	if err != nil {
		t.Fatal(err)
	}
	v.visit(link.URL + "?autoplay=1&muted=1")
	v.waitPlaying()
	v.wantTidy()
	c := &console{s, openTab(t)}
	c.load("Page.navigate", map[string]any{"url": s.url + "/#/video/" + u.ID})
	c.enter(s.key)
	c.wait("the player", media+` instanceof HTMLVideoElement`)
	eval[any](c.tab, media+`.play().catch(() => {})`)
	c.wait("the film to play", media+`.currentTime > 0.2`)
	allow(`["example.com"]`)

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

// wantStream plays a stream with hls.js in a page of another site, after a call with the address of that site.
func (v *visitor) wantStream(u watch, plays bool, before func(site string)) {
	v.t.Helper()
	script := v.get(v.url + "/" + found(v.t, v.get(u.EmbedURL).body, `(player/[^"]+/)player.js`) + "hls.js").body
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hls.js" {
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = w.Write(script)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><title>Host</title><video muted autoplay></video><script type="module">
			import Hls from "/hls.js";
			const hls = new Hls();
			hls.on(Hls.Events.ERROR, (_, { response }) => { window.refused = response?.code; });
			hls.loadSource(%q);
			hls.attachMedia(document.querySelector("video"));
		</script>`, u.HLSURL)
	}))
	defer host.Close()
	before(host.URL)
	v.visit(host.URL)
	if plays {
		v.wait("the stream to play", `document.querySelector("video").currentTime > 0.3`)
	} else {
		v.wait("the stream to be refused", `window.refused === 403`)
	}
}
