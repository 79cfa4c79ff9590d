package e2e

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spool-video/spool/test/need"
)

// noteJumps notes what a viewer of the page's player would not like.
const noteJumps = `(() => {
  const media = ` + inPlayer + `, seen = window.seen = {back: 0, ahead: 0, emptied: 0, problems: 0, heights: [media.videoHeight], furthest: media.currentTime};
  media.addEventListener("timeupdate", () => {
    seen.back = Math.max(seen.back, seen.furthest - media.currentTime);
    if (media.playbackRate < 1) seen.ahead = Math.max(seen.ahead, media.currentTime - seen.furthest);
    seen.furthest = Math.max(seen.furthest, media.currentTime);
  });
  media.addEventListener("resize", () => seen.heights.push(media.videoHeight));
  media.addEventListener("emptied", () => seen.emptied++);
  addEventListener("spool-error", () => seen.problems++);
  media.muted = true;
  media.volume = 0.5;
  media.playbackRate = 0.25;
})()`

// TestAPlayerTakesUpLargerVariants begins to play a film of which only the small renditions are there, in
// the player of the watch page, and wants to see the large one without an interruption when it is there.
func TestAPlayerTakesUpLargerVariants(t *testing.T) {
	oneBackend(t, "TestAFilmIsWatchedWhileItIsEncoded gets the same files from a bucket")
	need.TimeFor(t, "TestAFilmIsWatchedWhileItIsEncoded plays a growing film through, with hls.js alone")
	t.Parallel()
	findBrowser(t)
	g := newGate(t, lastChunkRun, `case " $* " in */v1.mp4*) ;; *) `+hold+` ;; esac`) // the large rendition is made alone
	s := start(t, g.tools())
	u := s.submit(newVideo{Filename: "a.mp4", Resolutions: []string{"720p", "360p", "144p"}, IsPublic: true}, clip(t, earlyClip))
	s.until("the small renditions", readyTimeout, func() bool { return s.read(u).Resolutions["360p"].Status == "ready" })
	s.putCaptions(u.ID, "en", "WEBVTT\n\n00:00.000 --> 01:04.000\nshown\n")

	v := newVisitor(t, s)
	v.visit(s.read(u).WatchURL + "?autoplay=1&muted=1&captions=en")
	v.waitPlaying()
	eval[any](v.tab, noteJumps)
	v.wait("captions", shownCaptions+`.join() === "shown"`)
	if n := eval[int](v.tab, inPlayer+".videoRenditions.length"); n != 2 {
		t.Errorf("the player begins with %d qualities, want 2", n)
	}
	g.release()
	v.wait("the large rendition to be taken up", inPlayer+".videoRenditions.length === 3")
	v.wait("captions to go on", shownCaptions+`.join() === "shown"`)
	type state struct {
		Paused, Muted bool
		Volume, Rate  float64
		Tracks        int
	}
	want := state{Muted: true, Volume: 0.5, Rate: 0.25, Tracks: 1}
	if got := eval[state](v.tab, `(({paused, muted, volume, playbackRate: rate, textTracks}) => ({paused, muted, volume, rate,
		tracks: [...textTracks].filter((t) => t.kind === "subtitles").length}))(`+inPlayer+`)`); got != want {
		t.Errorf("the player is %+v, want %+v", got, want)
	}
	eval[any](v.tab, inPlayer+".playbackRate = 4")
	v.wait("the end", inPlayer+".ended")
	v.wantNoJumps()
	v.wantTidy()
	w := s.waitReady(u)
	t.Run("twice", func(t *testing.T) { newVisitor(t, s).takeUpTwice(w) })
}

// shownCaptions is JavaScript for the texts that the player shows.
const shownCaptions = `[...` + inPlayer + `.textTracks].filter((t) => t.mode === "showing").flatMap((t) => [...t.activeCues ?? []].map((c) => c.text))`

func (v *visitor) wantNoJumps() {
	v.t.Helper()
	type seen struct {
		Back, Ahead, Furthest float64
		Emptied, Problems     int
		Heights               []int
	}
	got := eval[seen](v.tab, "window.seen")
	if got.Back > 0.5 || got.Ahead > 5 || got.Furthest < 63 || got.Emptied > 0 || got.Problems > 0 || len(got.Heights) < 2 || got.Heights[len(got.Heights)-1] != 500 {
		v.t.Errorf("the viewer saw %+v; want 64 s that grow to a height of 500, without an interruption", got)
	}
}

// noteCuts counts how often the player removes from its buffers what is on the screen.
const noteCuts = `(() => {
  const media = ` + inPlayer + `, remove = SourceBuffer.prototype.remove;
  window.cuts = 0;
  SourceBuffer.prototype.remove = function(from, to) {
    if (from <= media.currentTime && to > media.currentTime) window.cuts++;
    return remove.call(this, from, to);
  };
})()`

// takeUpTwice plays a film of which one rendition is there, then two, then three. While the player prepares
// for the second, the viewer, who has paused, seeks, chooses a quality and turns the captions off.
func (v *visitor) takeUpTwice(w watch) {
	v.t.Helper()
	l := v.shorten(w.HLSURL)
	v.visit(w.WatchURL + "?autoplay=1&muted=1&captions=en")
	v.waitPlaying()
	v.wait("captions", shownCaptions+`.join() === "shown"`)
	eval[any](v.tab, inPlayer+".pause(); "+noteCuts)
	v.wait("a buffer", inPlayer+".buffered.end(0) > 50") // nothing more is asked for
	l.set(2, true)
	ready := func(n string) {
		eval[any](v.tab, `document.querySelector("spool-player").setAttribute("ready", `+n+`)`)
	}
	ready("2")
	v.until("the player to prepare", readyTimeout, func() bool { _, held := l.seen(); return held > 0 })
	l.set(3, true)
	ready("3")
	eval[any](v.tab, `(() => { const media = `+inPlayer+`; media.currentTime = 40; media.videoRenditions.selectedIndex = 0;
		for (const track of media.textTracks) track.mode = "disabled"; })()`)
	l.set(3, false)
	v.wait("both renditions to be taken up", inPlayer+".videoRenditions.length === 3")
	v.wait("the rest of the film", `((b) => b.end(b.length - 1) > 60)(`+inPlayer+`.buffered)`)
	type state struct {
		Paused         bool
		At             float64
		Captions, Cuts int
		Chosen, Shown  int
	}
	look := `(({paused, currentTime: at, textTracks, videoRenditions, videoHeight: shown}) => ({paused, at: Math.floor(at), cuts: window.cuts, shown,
		captions: [...textTracks].filter((t) => t.mode === "showing").length, chosen: videoRenditions.selected?.height ?? 0}))(` + inPlayer + `)`
	small := eval[int](v.tab, inPlayer+".videoRenditions[0].height")
	if got, want := eval[state](v.tab, look), (state{Paused: true, At: 40, Chosen: small, Shown: small}); got != want {
		v.t.Errorf("the player that has paused is %+v, want %+v", got, want)
	}
	before, _ := l.seen()
	ready("4") // which this browser cannot play
	v.until("the player to look again", readyTimeout, func() bool { lists, _ := l.seen(); return lists > before })
	eval[any](v.tab, inPlayer+".playbackRate = 4; "+inPlayer+".play()")
	v.wait("the end", inPlayer+".ended")
	if got, want := eval[state](v.tab, look), (state{Paused: true, At: 64, Chosen: small, Shown: small}); got != want {
		v.t.Errorf("the player at the end is %+v, want %+v", got, want)
	}
	if lists, _ := l.seen(); lists != before+1 {
		v.t.Errorf("the list was read %d times for nothing, want once", lists-before)
	}
	v.wantTidy()
}

// shortList answers a browser's requests for the list of a film's renditions.
type shortList struct {
	tab   *tab
	parts []string // what the list begins with, and the variants, the smallest first

	mu     sync.Mutex
	length int
	holds  bool // no segment of a picture comes
	held   []string
	lists  int
}

// shorten has the browser see only the smallest variant of a film, and one that it cannot play.
func (v *visitor) shorten(master string) *shortList {
	v.t.Helper()
	text := string(v.fetch(master))
	variants := regexp.MustCompile(`(?m)^#EXT-X-STREAM-INF:.*CODECS="avc1.*\n.*\n`).FindAllString(text, -1)
	file := func(variant string) string { return strings.Split(variant, "\n")[1] }
	slices.SortFunc(variants, func(a, b string) int { return strings.Compare(file(a), file(b)) })
	if len(variants) != 3 || file(variants[0]) != "144p.m3u8" {
		v.t.Fatalf("the list has the variants %q", variants)
	}
	for _, variant := range variants {
		text = strings.Replace(text, variant, "", 1)
	}
	text += strings.Replace(variants[2], `CODECS="avc1`, `CODECS="dvh1.05.01,avc1`, 1)
	l := &shortList{tab: v.tab, length: 1, parts: append([]string{text}, variants...)}
	v.tab.mu.Lock()
	v.tab.onEvent = l.hear
	v.tab.mu.Unlock()
	v.tab.call("Network.setCacheDisabled", map[string]any{"cacheDisabled": true}, nil)
	v.tab.call("Fetch.enable", map[string]any{"patterns": []map[string]any{{"urlPattern": "*/master.m3u8*"}, {"urlPattern": "*p-*.m4s*"}}}, nil)
	return l
}

func (l *shortList) hear(m message) {
	var p paused
	if m.Method != "Fetch.requestPaused" || json.Unmarshal(m.Params, &p) != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	list := strings.Contains(p.Request.URL, "/master.m3u8")
	switch {
	case list:
		l.lists++
		l.post("Fetch.fulfillRequest", map[string]any{"requestId": p.RequestID, "responseCode": 200,
			"responseHeaders": []map[string]string{{"name": "Content-Type", "value": "application/vnd.apple.mpegurl"}},
			"body":            base64.StdEncoding.EncodeToString([]byte(strings.Join(l.parts[:l.length+1], "")))})
	case l.holds:
		l.held = append(l.held, p.RequestID)
	default:
		l.post("Fetch.continueRequest", map[string]any{"requestId": p.RequestID})
	}
}

func (l *shortList) post(method string, params any) {
	if _, err := l.tab.post(method, params); err != nil && l.tab.browser.gone() == nil {
		l.tab.t.Errorf("%s: %v", method, err)
	}
}

// set has the list be so long, and segments held back or not.
func (l *shortList) set(length int, holds bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.length, l.holds = length, holds
	for ; !holds && len(l.held) > 0; l.held = l.held[1:] {
		l.post("Fetch.continueRequest", map[string]any{"requestId": l.held[0]})
	}
}

// seen returns how often the list was read, and how many segments are held back.
func (l *shortList) seen() (lists, held int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lists, len(l.held)
}
