package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/jpeg"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/spool-video/spool/test/need"
)

// TestWatchPageInABrowser opens the page before there is a video, and stays until it plays.
func TestWatchPageInABrowser(t *testing.T) {
	oneBackend(t, "the pages ask the services only, and TestAStreamIsTheVideo plays from a bucket")
	t.Parallel()
	s := shared(t)
	v := newVisitor(t, s)
	u := s.create(newVideo{Filename: hostileName, Resolutions: []string{"144p", "240p"}, IsPublic: true})
	watchURL := s.read(u).WatchURL
	v.visit(watchURL)
	v.wait("the page to wait for the upload", `document.querySelector(".waiting .heading").textContent === "Not here yet"`)
	v.wantAccessible("waiting", 1000)
	s.put(u, clip(t, middleClip))
	s.complete(u.ID)
	v.wait("the player to appear by itself", `document.querySelector("spool-player")?.media !== undefined`)
	s.waitReady(u)

	v.visit(watchURL)
	v.wantKeys()
	v.wantFullSeconds()
	v.wantQuality()
	v.wantMenuToWork()
	v.wantKeyList()
	v.tab.emulate(390, "light")
	v.wantAccessible("watch-phone", 390)
	if got := eval[int](v.tab, `document.documentElement.scrollWidth`); got > 390 {
		t.Errorf("on a phone of 390 pixels the page is %d wide", got)
	}
	v.wantResumption(watchURL)
	v.wantSharing()
	if n := eval[int](v.tab, `document.querySelectorAll("img[src='x']").length`); n > 0 || len(heard[any](v.tab, "Page.javascriptDialogOpening")) > 0 {
		t.Errorf("the title became %d elements", n)
	}
	v.wantTidy()
}

// wantSharing opens the dialog with the addresses, and leaves it with Escape. A picture of 16:9 has no black beside it.
func (v *visitor) wantSharing() {
	v.t.Helper()
	eval[any](v.tab, `document.querySelector("#share").click()`)
	v.wait("the dialog", `document.querySelector("#sharing").open && document.querySelector("#link").value.includes("/watch/")`)
	v.wantAccessible("watch", 1200)
	v.tab.call("Input.dispatchKeyEvent", map[string]any{"type": "rawKeyDown", "key": "Escape", "windowsVirtualKeyCode": 27}, nil)
	v.wait("the dialog to go", `!document.querySelector("#sharing").open`)
	const shape = `((box) => box.width / box.height)(document.querySelector("spool-player").getBoundingClientRect())`
	for _, height := range []int{600, 800, 1200} {
		v.tab.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 1280, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
		if got := eval[float64](v.tab, shape); math.Abs(got-16.0/9) > 0.01 {
			v.t.Errorf("in a window of 1280 × %d the player's shape is %.3f, want 16:9", height, got)
		}
	}
}

// wantKeys plays with the keyboard alone, without the focus in the player.
func (v *visitor) wantKeys() {
	v.t.Helper()
	v.wait("the player to load", inPlayer+".readyState >= 2")
	if !eval[bool](v.tab, inPlayer+".paused") {
		v.t.Error("it plays before anybody asked for it")
	}
	v.press(" ")
	v.waitPlaying()
	v.press("k")
	v.wait("k to pause", inPlayer+".paused")
	v.wantStill()
	v.press("5")
	v.wait("5 to go to the middle", `Math.abs(`+inPlayer+`.currentTime - 4) < 0.2`)
	v.press("ArrowLeft")
	v.wait("the arrow to go back", inPlayer+".currentTime < 1")
	v.press("m")
	v.wait("m to mute", inPlayer+`.muted && `+part("media-mute-button")+`.getAttribute("mediavolumelevel") === "off"`)
	v.press("m")
	v.wait("m to unmute", "!"+inPlayer+".muted")
	v.wantFrames()
	v.press("l")
	v.wait("l to go on", inPlayer+".currentTime > 4")
	v.press("0")
	v.wait("0 to go back to the beginning", inPlayer+".currentTime === 0")
}

// wantFrames goes from frame to frame of a film with 25 of them a second, and by ten seconds with the buttons.
func (v *visitor) wantFrames() {
	v.t.Helper()
	frame := func(n int) string {
		return fmt.Sprintf(`!%s.seeking && Math.floor(%s.currentTime * 25 + 0.001) === %d`, inPlayer, inPlayer, n)
	}
	eval[any](v.tab, inPlayer+".currentTime = 2")
	v.wait("the fiftieth frame", frame(50))
	for i := range 3 {
		v.press(".")
		v.wait("the next frame", frame(51+i))
	}
	v.press(",")
	v.wait("the frame before", frame(52))
	eval[any](v.tab, part("media-seek-forward-button")+".click()")
	v.wait("the button to go on by ten seconds", inPlayer+".currentTime > 7.9")
	eval[any](v.tab, part("media-seek-backward-button")+".click()")
	v.wait("the button to go back", inPlayer+".currentTime === 0")
	if !eval[bool](v.tab, part("media-mute-button")+".checkVisibility()") {
		v.t.Error("a film with sound has no control of the volume")
	}
}

// wantFullSeconds wants the player to show how long a video is, also where the browser says a microsecond less.
func (v *visitor) wantFullSeconds() {
	v.t.Helper()
	display := part("media-time-display")
	for _, length := range []string{inPlayer + ".duration", "7.999999"} {
		eval[any](v.tab, display+`.setAttribute("mediaduration", `+length+`)`)
		v.wait("the length of the video, "+length, display+`.shadowRoot.textContent.replaceAll(/\s/g, "").endsWith("/0:08")`)
	}
	eval[any](v.tab, display+`.setAttribute("mediacurrenttime", 7.999999)`)
	v.wait("the end of the video", display+`.shadowRoot.textContent.replaceAll(/\s/g, "").endsWith("0:08/0:08")`)
}

// wantQuality chooses the other resolution in the menu.
func (v *visitor) wantQuality() {
	v.t.Helper()
	eval[any](v.tab, inPlayer+".play()")
	v.waitPlaying()
	for _, height := range []int{144, 240} {
		item := fmt.Sprintf(`[...%s.shadowRoot.querySelectorAll("media-chrome-menu-item")].find((i) => i.textContent.trim() === "%dp")`, part("media-rendition-menu"), height)
		v.wait("the quality in the menu", item+" !== undefined")
		eval[any](v.tab, inPlayer+".currentTime = 0; "+item+".click()")
		v.wait("the quality to change", fmt.Sprintf(`((m) => { // a busy machine may be at the end before
			if (m.ended) { m.currentTime = 0; m.play(); }
			return m.videoHeight === %d;
		})(%s)`, height, inPlayer))
	}
}

// wantMenuToWork opens the menu with the mouse, and changes the speed.
func (v *visitor) wantMenuToWork() {
	v.t.Helper()
	eval[any](v.tab, inPlayer+".pause()") // else the controls would go away
	eval[any](v.tab, part("media-settings-menu-button")+".click()")
	v.wait("the menu", part("media-settings-menu")+".checkVisibility()")
	eval[any](v.tab, part("media-settings-menu-item")+".click()")
	v.wait("the menu of qualities", part("media-rendition-menu")+".checkVisibility()")
	v.wantAccessible("menu", 1000)
	item := `[...` + part("media-playback-rate-menu") + `.shadowRoot.querySelectorAll("media-chrome-menu-item")].find((i) => i.value === "0.5")`
	eval[any](v.tab, item+".click()")
	v.wait("the speed to change", inPlayer+".playbackRate === 0.5")
	eval[any](v.tab, part("media-settings-menu-button")+".click()")
}

// wantKeyList reads which keys there are.
func (v *visitor) wantKeyList() {
	v.t.Helper()
	v.press("?")
	v.wait("the list of keys", part("dialog.keys")+`.checkVisibility() && `+part("dialog.keys")+`.textContent.includes("0…9")`)
	if n := eval[int](v.tab, part("media-controller")+`.querySelectorAll("media-keyboard-shortcuts-dialog").length`); n > 0 {
		v.t.Error("there are two lists of keys")
	}
	v.wantAccessible("keys", 1000)
	v.pictures("keys-phone", 390)
	v.press("?")
	v.wait("the list of keys to go", `!`+part("dialog.keys")+`.open`)
}

// wantProblem plays what cannot be played. To try again is offered only where it may help.
func (v *visitor) wantProblem(hls, message string, again bool) {
	v.t.Helper()
	eval[any](v.tab, `document.querySelector("spool-player").setAttribute("hls", `+quote(hls)+`); document.querySelector("spool-player").reload(true)`)
	v.wait("the player to say "+message, part(".problem")+`.checkVisibility() && `+part(".problem")+`.textContent.startsWith(`+quote(message)+`)`)
	if got := eval[bool](v.tab, part(".problem button")+`.checkVisibility()`); got != again {
		v.t.Errorf("to try again is offered: %t, want %t, since %s", got, again, message)
	}
}

// wantResumption leaves in the middle and comes back.
func (v *visitor) wantResumption(address string) {
	v.t.Helper()
	eval[any](v.tab, inPlayer+".currentTime = 4")
	v.wait("the picture", inPlayer+".currentTime >= 4 && !"+inPlayer+".seeking")
	v.visit(address)
	v.wait("it to be where one left", inPlayer+".readyState >= 2 && "+inPlayer+".currentTime > 3.5")
	eval[any](v.tab, inPlayer+".play()")
	v.wait("it to say so", part(".resumed")+`.checkVisibility() && `+part(".resumed")+`.textContent.includes("Resumed at 0:0")`)
	v.visit(address + "?start=1")
	v.wait("it to begin where the address says", inPlayer+".readyState >= 2 && Math.abs("+inPlayer+".currentTime - 1) < 0.3")
}

// TestEmbedsInABrowser shows videos in a page of another origin.
func TestEmbedsInABrowser(t *testing.T) {
	oneBackend(t, "the pages ask the services only, and TestAStreamIsTheVideo plays from a bucket")
	need.TimeFor(t, "TestWatchPageInABrowser uses the same player, and package pages has the markup and who may frame it")
	t.Parallel()
	s := shared(t)
	open := s.publish(newVideo{Filename: "open.mp4", Resolutions: []string{"144p"}, IsPublic: true}, clip(t, tinyClip))
	u := s.submit(newVideo{Filename: "closed.mp4", Resolutions: []string{"144p"}}, clip(t, tinyClip))
	closed := s.waitReady(u)
	if closed.WatchURL != "" || !strings.HasPrefix(closed.EmbedURL, s.url+"/embed/") || open.EmbedURL != s.url+"/embed/"+open.ID {
		t.Fatalf("the pages are %q, %q and %q", closed.WatchURL, closed.EmbedURL, open.EmbedURL)
	}
	v := newVisitor(t, s)
	v.wantFrame(open.EmbedURL+"?autoplay=1&muted=1&loop=1", true)
	v.wantFrame(closed.EmbedURL+"?autoplay=1&muted=1&start=1", true)
	v.wantFrame(open.WatchURL, false)

	v = newVisitor(t, s)
	v.visit(closed.EmbedURL)
	v.wait("the picture before it", part("media-poster-image")+".image.naturalWidth > 0")
	v.wantAccessible("embed-phone", 390)
	v.wantAccessible("embed", 640)
	eval[any](v.tab, part(".big")+".click()")
	v.waitPlaying()
	v.wantTidy()

	expiring := decode[watch](t, s.readPrivate(u.ID, 1), http.StatusOK)
	short := expiring.EmbedURL
	s.until("the address to expire", readyTimeout, func() bool { return s.get(short).status == http.StatusForbidden })
	v.wantProblem(expiring.HLSURL, "The link to this video has expired.", false)
	v.wantProblem("http://127.0.0.1:1/master.m3u8", "The connection to the server is interrupted.", true)
	v.visit(short)
	v.wait("the page to say so", `document.querySelector("h1").textContent === "This link has expired"`)
	v.wantAccessible("embed-expired", 640)
	v.pictures("embed-expired-phone", 390)
	forged := strings.Replace(closed.EmbedURL, "/embed/1", "/embed/2", 1)
	v.visit(forged)
	v.wait("the page to say so", `document.querySelector("h1").textContent === "This link does not work"`)
	v.pictures("embed-forged", 640)
	v.visit(s.url + "/watch/" + closed.ID)
	v.wait("the page to say so", `document.querySelector("h1").textContent === "There is no such video"`)
	v.wantAccessible("watch-missing", 1000)
	v.pictures("watch-missing-phone", 390)
}

// wantFrame shows a page in a frame of a page of another origin, which does not let it do everything.
func (v *visitor) wantFrame(address string, plays bool) {
	v.t.Helper()
	v.wantFrameOn(address, plays, func(string) {})
}

// wantFrameOn is wantFrame after a call with the address of the other site.
func (v *visitor) wantFrameOn(address string, plays bool, before func(site string)) {
	v.t.Helper()
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><title>Host</title><iframe src="%s" width="640" height="360" allow="autoplay; fullscreen 'none'; picture-in-picture 'none'"></iframe>`, address)
	}))
	defer host.Close()
	before(host.URL)
	v.visit(host.URL)
	if !plays {
		v.until("the browser to refuse the frame", readyTimeout, func() bool {
			return strings.Contains(strings.Join(v.violations(), " "), "frame-ancestors")
		})
		return
	}
	origin := v.url
	v.until("the frame to play", readyTimeout, func() bool {
		type created struct {
			Context struct {
				ID      int
				Origin  string
				AuxData struct{ IsDefault bool }
			}
		}
		for _, c := range heard[created](v.tab, "Runtime.executionContextCreated") {
			if c.Context.Origin == origin && c.Context.AuxData.IsDefault && v.playsIn(c.Context.ID) {
				return true
			}
		}
		return false
	})
}

func (v *visitor) playsIn(context int) bool {
	text, err := v.tab.send("Runtime.evaluate", map[string]any{
		"contextId": context, "returnByValue": true,
		"expression": `(() => { const m = document.querySelector("spool-player")?.media; return !!m && m.checkVisibility() && m.currentTime > 0.3 && m.getVideoPlaybackQuality().totalVideoFrames > 5; })()`,
	})
	var answer struct{ Result struct{ Value bool } }
	return err == nil && json.Unmarshal(text, &answer) == nil && answer.Result.Value // the context of a page that was left is gone
}

// TestPagesForPrograms asks for what other sites read.
func TestPagesForPrograms(t *testing.T) {
	usuallyOneBackend(t, "pages are made of what the API reads")
	t.Parallel()
	s := shared(t)
	w := s.publish(newVideo{Filename: "A film.mp4", Resolutions: []string{"144p"}, IsPublic: true}, clip(t, miniClip))
	page := s.get(w.WatchURL)
	poster, err := jpeg.DecodeConfig(bytes.NewReader(s.get(w.PosterURL).body))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<meta property="og:title" content="A film">`, `<meta property="og:image" content="` + w.PosterURL + `">`, "application/json+oembed",
		fmt.Sprintf(`<meta property="og:image:width" content="%d">`, poster.Width),
	} {
		if page.status != http.StatusOK || !strings.Contains(string(page.body), want) {
			t.Errorf("the watch page is %d, without %s", page.status, want)
		}
	}
	type answer struct {
		Title, HTML   string
		Width, Height int
		ThumbnailURL  string `json:"thumbnail_url"`
	}
	a := decode[answer](t, s.get(s.url+"/oembed?maxwidth=96&url="+url.QueryEscape(w.WatchURL)), http.StatusOK)
	if a.Title != "A film" || a.Width != 96 || a.Height != 72 || !strings.Contains(a.HTML, `<iframe src="`+w.EmbedURL+`"`) {
		t.Errorf("oEmbed answers %+v", a)
	}
	if r := s.send("HEAD", w.WatchURL, nil); r.status != http.StatusOK || len(r.body) > 0 {
		t.Errorf("HEAD of the watch page is %d", r.status)
	}
	s.deleteVideo(w.ID)
	if r := s.get(w.WatchURL); r.status != http.StatusNotFound || !strings.Contains(string(r.body), "There is no such video") {
		t.Errorf("the page of a deleted video is %d %s", r.status, r.body)
	}
	s.get(s.url+"/oembed?url="+url.QueryEscape(w.EmbedURL)).problem(t, http.StatusNotFound, "video_not_found")
}
