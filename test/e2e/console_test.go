package e2e

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// hostileName would run as a script in a page that takes names for markup.
const (
	hostileName  = `<img src=x onerror=alert(1)>.mp4`
	hostileTitle = `<img src=x onerror=alert(1)>`
)

// console is the page at / in a browser.
type console struct {
	*server
	tab *tab
}

// openConsole starts a server and opens its console, without a key.
func openConsole(t *testing.T, options ...option) *console {
	t.Helper()
	tab := openTab(t)
	s := start(t, options...)
	if onFleet() {
		s.allowUploads()
	}
	c := &console{s, tab}
	c.load("Page.navigate", map[string]any{"url": s.url + "/"})
	c.wait("the question for the key", `document.querySelector("#key") !== null`)
	return c
}

// allowUploads gives the bucket the CORS rule of docs/storage.md for pages of
// this server.
func (s *server) allowUploads() {
	s.t.Helper()
	_, err := s.bucket.server.Client().PutBucketCors(s.t.Context(), &sdk.PutBucketCorsInput{
		Bucket: &s.bucket.name,
		CORSConfiguration: &types.CORSConfiguration{CORSRules: []types.CORSRule{{
			AllowedOrigins: []string{s.url}, AllowedMethods: []string{"PUT", "GET", "HEAD"}, AllowedHeaders: []string{"content-type", "range"},
			ExposeHeaders: []string{"ETag", "Content-Length", "Content-Range", "Accept-Ranges"}, MaxAgeSeconds: aws.Int32(3600),
		}}},
	})
	if err != nil {
		s.t.Fatalf("set the CORS rule of the bucket: %v", err)
	}
}

// load sends a command that loads the page, and waits until it is there.
func (c *console) load(method string, params any) {
	c.t.Helper()
	loaded := func() int { return len(heard[any](c.tab, "Page.loadEventFired")) }
	before := loaded()
	c.tab.call(method, params, nil)
	c.until("the page to be loaded", startTimeout, func() bool { return loaded() > before })
}

// wait waits until an expression is true in the page.
func (c *console) wait(what, expression string) {
	c.t.Helper()
	c.until(what, readyTimeout, func() bool { return eval[bool](c.tab, expression) })
}

// waitText waits until an element that can be seen has the text.
func (c *console) waitText(selector, text string) {
	c.t.Helper()
	c.wait(selector+" to say "+text, `[...document.querySelectorAll(`+quote(selector)+`)].some((e) => e.checkVisibility() && e.textContent.includes(`+quote(text)+`))`)
}

// click presses what can be seen and has exactly this text.
func (c *console) click(selector, text string) {
	c.t.Helper()
	find := `[...document.querySelectorAll(` + quote(selector) + `)].find((e) => e.checkVisibility({ visibilityProperty: true }) && !e.disabled && e.textContent.trim() === ` + quote(text) + `)`
	c.wait(text+" to press", find+` !== undefined`)
	eval[any](c.tab, find+`.click()`)
}

// enter gives the key, by the keyboard alone.
func (c *console) enter(key string) {
	c.t.Helper()
	c.wait("the field for the key to have the focus", `document.activeElement.id === "key"`)
	c.tab.call("Input.insertText", map[string]any{"text": key}, nil)
	for _, kind := range []string{"keyDown", "keyUp"} {
		c.tab.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}, nil)
	}
}

// upload chooses a file under another name, and resolutions, and presses Upload.
func (c *console) upload(file, name string, resolutions ...string) {
	c.t.Helper()
	path := filepath.Join(c.t.TempDir(), name)
	if err := os.Symlink(file, path); err != nil {
		c.t.Fatal(err)
	}
	c.click("#open-upload", "Upload")
	c.choose("#files", path)
	c.waitText("#chosen", name)
	c.tick(resolutions...)
	c.click("#upload", "Upload")
}

// wantProposed opens the upload form, looks which resolutions are ticked, and closes it.
func (c *console) wantProposed(want string) {
	c.t.Helper()
	c.click("#open-upload", "Upload")
	if got := eval[string](c.tab, `[...document.querySelectorAll(".sheet input:checked")].map((box) => box.value).filter((name) => /^\d/.test(name)).join()`); got != want {
		c.t.Errorf("the form proposes %s; want %s", got, want)
	}
	eval[any](c.tab, `document.querySelector(".sheet").close()`)
}

// choose gives files to an input of the page.
func (c *console) choose(input string, paths ...string) {
	c.t.Helper()
	var found struct{ Result struct{ ObjectID string } }
	c.tab.call("Runtime.evaluate", map[string]any{"expression": fmt.Sprintf("document.querySelector(%q)", input)}, &found)
	c.tab.call("DOM.setFileInputFiles", map[string]any{"objectId": found.Result.ObjectID, "files": paths}, nil)
}

// tick chooses resolutions in the upload form.
func (c *console) tick(resolutions ...string) {
	c.t.Helper()
	for _, name := range []string{"144p", "240p", "480p", "720p", "1080p"} {
		box := `document.querySelector('.sheet input[value="` + name + `"]')`
		if eval[bool](c.tab, box+".checked") != slices.Contains(resolutions, name) {
			eval[any](c.tab, box+".click()")
		}
	}
}

func TestConsoleInABrowser(t *testing.T) {
	oneBackend(t, "the page asks the same API there, and TestConsoleCancelsAnUpload uploads to the bucket")
	t.Parallel()
	c := openConsole(t)
	c.look("sign-in")
	c.enter("no-such-key")
	c.waitText(".problem", "API key")
	c.enter(apiKey)
	c.waitText(".empty", "No videos yet")
	c.look("empty")

	c.wantProposed("480p,720p,1080p")
	c.set("#loudness", "normalize")
	c.upload(clip(t, tinyClip), hostileName, "144p", "240p")
	c.waitText(".transfer .state", "Uploaded.")
	c.waitText(".video .badge", "ready")
	c.wait("the poster", `document.querySelector(".thumb.pictured") !== null`)
	c.click(".dock button", "Dismiss")
	c.look("list")
	c.wantMenu()
	c.wantHarmless()
	c.addCaptions()
	c.click(".video .name", hostileTitle)
	c.waitText("h1", hostileTitle)
	c.wantRooms()
	c.wantPlayable()
	c.wantClip("0:02")
	c.wantReport()
	c.wantCaptionsInThePlayer()
	c.wantChapters()

	c.load("Page.reload", nil)
	c.waitText("h1", hostileTitle) // the address names the video and its room, and the tab remembers the key
	c.waitText("[aria-selected=true]", "Text")
	c.wantDeletion()
	c.wantHarmless()
	c.wantOwnOriginsOnly()
	c.wantPolicyToBite()
}

// wantHarmless looks for signs that something other than the page's own scripts
// has run.
func (c *console) wantHarmless() {
	c.t.Helper()
	if n := eval[int](c.tab, `document.querySelectorAll("img[src='x'], [onerror]").length`); n > 0 {
		c.t.Errorf("a name became %d elements of the page", n)
	}
	if all := heard[any](c.tab, "Page.javascriptDialogOpening"); len(all) > 0 {
		c.t.Errorf("dialogs were opened: %v", all)
	}
	if all := heard[any](c.tab, "Runtime.exceptionThrown"); len(all) > 0 {
		c.t.Errorf("scripts failed: %v", all)
	}
	if all := c.violations(); len(all) > 0 {
		c.t.Errorf("the browser reports %q", all)
	}
}

// violations returns what the browser's log says about the page's policy.
func (c *console) violations() []string {
	c.t.Helper()
	type logged struct{ Entry struct{ Source, Text string } }
	var all []string
	for _, l := range heard[logged](c.tab, "Log.entryAdded") {
		if l.Entry.Source == "security" || strings.Contains(l.Entry.Text, "Content Security Policy") {
			all = append(all, l.Entry.Text)
		}
	}
	return all
}

// addCaptions adds captions to the only video.
func (c *console) addCaptions() {
	c.t.Helper()
	list := decode[struct{ Videos []struct{ ID string } }](c.t, c.call("GET", "/api/video", nil), 200)
	if r := c.putCaptions(list.Videos[0].ID, "en?label=English", "WEBVTT\n\n00:00.500 --> 00:01.500\nGood morning\n"); r.status != 201 {
		c.t.Fatalf("captions are answered with %d %s", r.status, r.body)
	}
}

// look keeps pictures of a page, wide, narrow and dark, and has each checked.
func (c *console) look(page string) {
	c.t.Helper()
	c.pictures(page, c.tab.wantAccessible)
}

// pictures keeps pictures of a page, wants it to fit the screen, and has it checked, unless check is nil.
func (c *console) pictures(page string, check func(name string)) {
	c.t.Helper()
	for _, as := range []struct {
		width  int
		scheme string
	}{{1280, "dark"}, {390, "dark"}, {390, "light"}, {1280, "light"}} {
		once := (as.width < 600) != (as.scheme == "dark") // every width and every scheme
		if !once && !keepsPictures() {
			continue
		}
		c.tab.emulate(as.width, as.scheme)
		c.wait("the colours to have changed", `!document.getAnimations().some((a) => a instanceof CSSTransition)`)
		name := fmt.Sprintf("%s-%d-%s", page, as.width, as.scheme)
		if once && check != nil {
			check(name)
		}
		c.tab.shoot(name)
		if got := eval[int](c.tab, `document.documentElement.scrollWidth`); got > as.width {
			c.t.Errorf("on a screen of %d pixels the page is %d wide", as.width, got)
		}
	}
	c.tab.emulate(1280, "light") // for what comes next
}

// media is the video element of the player.
const media = `(document.querySelector("spool-player")?.media ?? document.querySelector("video"))`

func (c *console) wantPlayable() {
	c.t.Helper()
	c.wait("the player", media+` instanceof HTMLVideoElement`)
	eval[any](c.tab, media+`.play().catch(() => {})`)
	c.wait("the film to play", media+`.videoWidth > 0 && `+media+`.currentTime > 0.2`)
	if got := eval[int](c.tab, media+`.videoHeight`); got != 144 && got != 240 {
		c.t.Errorf("the video is %d pixels high, want one of its resolutions", got)
	}
	c.openRoom("Files")
	c.waitText(".resolution .meta", "256 × 144")
	c.waitText(".stills .fine", "Poster")
	c.look("video-files")
	c.openRoom("Share")
	c.click("summary", "Addresses for developers")
	c.waitText(".address label", "HLS")
	c.look("video-share")
	const hls = `document.querySelector("#address-hls").value`
	hour := eval[string](c.tab, hls)
	c.set("#life", "604800")
	c.wait("addresses for a week", hls+` !== `+quote(hour))
	for _, address := range []string{"#address-hls", "#address-link"} {
		if r := c.get(eval[string](c.tab, `document.querySelector(`+quote(address)+`).value`)); r.status != 200 {
			c.t.Errorf("the address %s to share answers %d", address, r.status)
		}
	}
	code := eval[string](c.tab, `document.querySelector("#address-embed-code").value`)
	if want := `style="width: 100%; aspect-ratio: 16 / 9; border: 0" allow="autoplay; picture-in-picture" allowfullscreen loading="lazy"></iframe>`; !strings.HasSuffix(code, want) {
		c.t.Errorf("the code for pages is %s, want that of the watch page: %s", code, want)
	}
}

// wantCaptionsInThePlayer adds captions, and deletes them, while the player has the video open. Its menu follows, and
// what is being watched stays.
func (c *console) wantCaptionsInThePlayer() {
	c.t.Helper()
	file := filepath.Join(c.t.TempDir(), "german.de.vtt")
	if err := os.WriteFile(file, []byte("WEBVTT\n\n00:00.000 --> 00:01.900\nGuten Morgen\n"), 0o600); err != nil {
		c.t.Fatal(err)
	}
	offered := func(want string) {
		c.t.Helper()
		c.wait("the captions "+want+" in the player", `[...`+media+`.textTracks].filter((t) => t.kind === "subtitles").map((t) => t.language).join() === `+quote(want))
	}
	offered("en")
	eval[any](c.tab, media+`.pause(); `+media+`.currentTime = 1; `+media+`.addEventListener("emptied", () => { window.interrupted = true; })`)
	c.wait("the picture", `!`+media+`.seeking`)
	c.choose("#caption-file", file)
	c.wait("the language of the file's name", `document.querySelector("#caption-language").value === "de"`)
	c.click("form button", "Add captions")
	offered("en,de")
	eval[any](c.tab, `[...`+media+`.textTracks].find((t) => t.language === "de").mode = "showing"`)
	c.wait("the text", `[...`+media+`.textTracks].some((t) => t.activeCues?.[0]?.text === "Guten Morgen")`)
	c.click(`button[aria-label="Delete the captions Deutsch"]`, "Delete")
	c.click("dialog button", "Delete")
	offered("en")
	if at := eval[float64](c.tab, media+`.currentTime`); at != 1 || eval[bool](c.tab, `window.interrupted === true`) {
		c.t.Errorf("new captions moved the viewer from 1 s to %v s, or began anew", at)
	}
}

func (c *console) wantReport() {
	c.t.Helper()
	c.openRoom("Report")
	c.waitText(".report dt", "Duration")
	c.waitText(".report dd", "h264, 640 × 360")
	c.waitText(".decisions", "audio")
	c.waitText(".report table", "426 × 240")
	if n := eval[int](c.tab, `document.querySelectorAll(".chart rect.run").length`); n < 3 {
		c.t.Errorf("the time line has %d bars, want one for each program", n)
	}
	if n := eval[int](c.tab, `document.querySelectorAll(".bar-row").length`); n != 2 {
		c.t.Errorf("%d bit rates are shown, want 2", n)
	}
	c.look("video-report")
	const bars = `[...m.renditions({ "1080p": file, "720p": file, "480p": { ...file, bitrate: 1 } }, (name) => name === "1080p" && "720p").querySelectorAll(".bar-name strong")]`
	if got := eval[string](c.tab, `import("./console/chart.js").then((m) => { const file = { width: 2, height: 2, bitrate: 2 }; return `+bars+`.map((n) => n.textContent).join(); })`); got != "1080p = 720p,480p" {
		c.t.Errorf("resolutions that share a file have the bars %s", got)
	}
	c.openRoom("Text")
	c.waitText(".panel li", "en · subtitles · uploaded")
	c.click("summary", "Add captions")
	c.look("video-text")
}

// openRoom selects a tab of a video's page.
func (c *console) openRoom(name string) {
	c.t.Helper()
	c.click("[role=tab]", name)
	c.wait("the tab "+name, `document.querySelector("[role=tab][aria-selected=true]").textContent === `+quote(name))
}

// wantRooms goes through the tabs by the keyboard. Each has an address, and going back leaves the page.
func (c *console) wantRooms() {
	c.t.Helper()
	c.waitText("[role=tabpanel] dd", "0:02")
	c.look("video")
	press := func(key string) {
		for _, kind := range []string{"keyDown", "keyUp"} {
			c.tab.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key}, nil)
		}
	}
	eval[any](c.tab, `document.querySelector("[role=tab][aria-selected=true]").focus()`)
	for _, step := range []struct{ key, room string }{{"End", "report"}, {"ArrowRight", "overview"}, {"ArrowLeft", "report"}, {"Home", "overview"}, {"ArrowRight", "share"}} {
		press(step.key)
		c.wait("the room "+step.room, `[...document.querySelectorAll(".room")].filter((r) => r.checkVisibility()).map((r) => r.id).join() === "room-`+step.room+`" && document.activeElement.id === "tab-`+step.room+`"`)
	}
	if got := eval[string](c.tab, `location.hash`); !strings.HasSuffix(got, "/share") {
		c.t.Errorf("the address is %s", got)
	}
	if got := eval[string](c.tab, `[...document.querySelectorAll("[role=tab]")].filter((t) => t.checkVisibility()).map((t) => t.textContent).join()`); got != "Overview,Share,Text,Sound,Files,Audience,Report" {
		c.t.Errorf("the tabs are %s", got)
	}
	c.openRoom("Sound")
	c.waitText(".caption .badge", "default")
	c.waitText(".caption .meta", "LUFS in the file, made")
	c.look("video-sound")
}

// wantMenu opens the menu of a phone.
func (c *console) wantMenu() {
	c.t.Helper()
	c.tab.emulate(390, "light")
	c.click("#menu", "Menu")
	c.waitText("#links a", "Docs")
	c.waitText("#links button", "Forget key")
	c.look("menu")
	c.tab.emulate(390, "light")
	c.click("#links a", "Videos")
	c.wait("the menu to close", `!document.querySelector("#links").checkVisibility()`)
	c.tab.emulate(1280, "light")
}

// wantDeletion deletes one resolution, then the video; nothing happens before
// the question is answered.
func (c *console) wantDeletion() {
	c.t.Helper()
	c.openRoom("Files")
	c.click(".resolution button", "Delete")
	c.click("dialog button", "Keep it")
	c.wait("the question to go", `document.querySelector("dialog") === null && document.querySelectorAll(".resolution").length === 2`)
	c.click(".resolution button", "Delete")
	c.tab.shoot("question")
	c.click("dialog button", "Delete")
	c.wait("the resolution to go", `document.querySelectorAll(".resolution").length === 1`)
	c.openRoom("Overview")
	c.click("button", "Delete video")
	c.click("dialog button", "Delete")
	c.waitText(".empty", "No videos yet")
	c.wantNoVideos()
}

func (c *console) wantNoVideos() {
	c.t.Helper()
	if list := c.call("GET", "/api/video", nil); !strings.Contains(string(list.body), `"videos":[]`) {
		c.t.Errorf("the list is %s, want an empty one", list.body)
	}
}

// wantOwnOriginsOnly looks at every request of the page.
func (c *console) wantOwnOriginsOnly() {
	c.t.Helper()
	allowed, seen := []string{c.url}, map[string]bool{}
	if onFleet() {
		allowed = append(allowed, c.bucket.server.Endpoint)
	}
	type sent struct{ Request struct{ URL string } }
	for _, r := range heard[sent](c.tab, "Network.requestWillBeSent") {
		u, err := url.Parse(r.Request.URL)
		if err != nil {
			c.t.Fatal(err)
		}
		if u.Scheme == "data" {
			continue // the icons of the browser's own player; nothing is asked for
		}
		origin := u.Scheme + "://" + u.Host
		seen[origin] = true
		if !slices.Contains(allowed, origin) {
			c.t.Errorf("the page asked for %s", r.Request.URL)
		}
		if strings.Contains(r.Request.URL, apiKey) {
			c.t.Errorf("the key is in the address %s", r.Request.URL)
		}
	}
	if len(seen) != len(allowed) {
		c.t.Errorf("the page asked %v, want all of %v", seen, allowed)
	}
}

// wantPolicyToBite does what a script of somebody else would: without it, an
// empty log would prove nothing.
func (c *console) wantPolicyToBite() {
	c.t.Helper()
	eval[any](c.tab, `fetch("http://127.0.0.1:1/").catch(() => {})`)
	c.until("the refused request to be in the log", startTimeout, func() bool { return len(c.violations()) > 0 })
	markup := `try { document.body.insertAdjacentHTML("beforeend", "<i></i>"); "taken" } catch { "refused" }`
	if got := eval[string](c.tab, markup); got != "refused" {
		c.t.Errorf("markup from a text is %s", got)
	}
}

// TestConsoleShowsLongListsByPages looks at more videos than a page has, and at
// those of one status.
func TestConsoleShowsLongListsByPages(t *testing.T) {
	oneBackend(t, "TestAListWhileVideosComeAndGo reads long lists there")
	t.Parallel()
	c := openConsole(t)
	first := c.submit(newVideo{Filename: "first.mp4", Resolutions: []string{"144p"}}, clip(t, miniClip))
	for range 30 {
		c.create(newVideo{Filename: "holiday.mov", Resolutions: []string{"1080p", "480p"}, IsPublic: true})
	}
	c.enter(apiKey)
	c.wait("a page of videos", rows(24))
	eval[any](c.tab, `scrollTo(0, document.body.scrollHeight)`)
	c.wait("all videos", rows(31))
	c.tab.shoot("many")
	choose := func(status string) {
		eval[any](c.tab, `(() => { const f = document.querySelector("#filter"); f.value = `+quote(status)+`; f.dispatchEvent(new Event("change")); })()`)
	}
	choose("fail")
	c.waitText(".empty", "No video is failed.")
	c.waitReady(first)
	choose("ready")
	c.wait("the one that is ready", rows(1))
	c.waitText(".video .name", "first")
	c.waitText(".video .meta", " · private · ")
	c.wantHarmless()
}
