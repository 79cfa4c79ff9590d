package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// stranger is a page of another site, with the player of a server in it and a strict policy.
type stranger struct {
	*visitor
	site    string
	element string                        // the page has it
	read    atomic.Pointer[func() []byte] // answers /read, a route of the site
}

func newStranger(t testing.TB, s *server) *stranger {
	t.Helper()
	p := &stranger{visitor: newVisitor(t, s)}
	from := s.url
	if onFleet() {
		from += " " + s.bucket.server.Endpoint
	}
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/read" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write((*p.read.Load())())
			return
		}
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Security-Policy", fmt.Sprintf("default-src 'none'; script-src %s; connect-src 'self' %[2]s; img-src data: %[2]s; media-src blob: data: %[2]s; "+
			"require-trusted-types-for 'script'; trusted-types spool-player", s.url, from))
		fmt.Fprintf(w, `<!doctype html><title>Host</title><link rel="icon" href="data:,"><script type="module" src="%s/player/player.js"></script>%s`, s.url, p.element)
	}))
	t.Cleanup(host.Close)
	p.site = host.URL
	return p
}

// show opens the page with a player that has these attributes.
func (p *stranger) show(attributes string, values ...any) {
	p.t.Helper()
	p.element = fmt.Sprintf("<spool-player server=%q muted %s></spool-player>", p.url, fmt.Sprintf(attributes, values...))
	p.visit(p.site)
}

// wantSaid waits until the player says why it does not play.
func (p *stranger) wantSaid(sentence string) {
	p.t.Helper()
	p.wait("the player to say "+sentence, part(".problem")+`.checkVisibility() && `+part(".problem p")+`.textContent.includes(`+quote(sentence)+`)`)
}

// TestPlayersOnOtherSitesKnowVideosByTheirIDs shows videos on a page of another site, with nothing but their ids.
func TestPlayersOnOtherSitesKnowVideosByTheirIDs(t *testing.T) {
	t.Parallel()
	s := shared(t)
	p := newStranger(t, s)
	u := s.create(newVideo{Filename: "A film.mp4", Resolutions: []string{"144p"}, IsPublic: true})
	p.show("video=%q autoplay", u.ID)
	p.wantSaid("has not been uploaded yet")
	s.put(u, clip(t, middleClip))
	s.complete(u.ID)
	p.waitPlaying() // by itself
	s.waitReady(u)
	p.wait("the picture of the finished video", `document.querySelector("spool-player").hasAttribute("poster") && !document.querySelector("spool-player").hasAttribute("making")`)
	if got := eval[string](p.tab, `document.querySelector("spool-player").getAttribute("video-title")`); got != "A film" {
		t.Errorf("the player calls it %q", got)
	}
	p.wantTidyBut(p.site)

	closed := s.publish(newVideo{Filename: "b.mp4", Resolutions: []string{"144p"}}, clip(t, middleClip))
	p.show("video=%q autoplay", closed.ID)
	p.wantSaid("There is no such video")
	signed := strings.Split(closed.EmbedURL, "/")
	p.show("video=%q token=%q autoplay", closed.ID, signed[len(signed)-2])
	p.waitPlaying()
	p.show("src=%q autoplay", closed.EmbedURL+".json")
	p.waitPlaying()
	p.wantSites(u.ID)
	p.wantRenewal(closed.ID)
}

// wantSites lets a video play on some sites.
func (p *stranger) wantSites(id string) {
	p.t.Helper()
	for site, plays := range map[string]bool{"https://example.com": false, p.site: true} {
		decode[upload](p.t, p.call("PATCH", "/api/video/"+id, fmt.Sprintf(`{"allowedOrigins":[%q]}`, site)), http.StatusOK)
		p.show("video=%q autoplay", id)
		if plays {
			p.waitPlaying()
		} else {
			p.wantSaid("may not be played on this site")
		}
	}
}

// wantRenewal plays a private video by a route of the site. When the addresses have expired, the player asks for others.
func (p *stranger) wantRenewal(id string) {
	p.t.Helper()
	expired := decode[watch](p.t, p.readPrivate(id, 1), http.StatusOK)
	old := p.readPrivate(id, 1).body
	p.until("the addresses to expire", readyTimeout, func() bool { return p.get(expired.HLSURL).status == http.StatusForbidden })
	p.read.Store(new(func() []byte { return old }))
	p.show(`src="/read"`)
	p.wait("the player to have read", `document.querySelector("spool-player").hasAttribute("hls")`)
	p.read.Store(new(func() []byte { return p.readPrivate(id, 600).body }))
	p.until("the first read to be some seconds ago", readyTimeout, func() bool { return eval[float64](p.tab, "performance.now()") > 7000 })
	eval[any](p.tab, `document.querySelector("spool-player").goTo(2)`)
	p.waitPlaying()
	if at := eval[float64](p.tab, inPlayer+".currentTime"); at < 2 {
		p.t.Errorf("it goes on at %.1f s; want 2 s", at)
	}
}
