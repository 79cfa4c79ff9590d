package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// spoiler keeps answers from reaching the page: the server has done what it was
// asked, and the page does not know.
type spoiler struct {
	tab *tab

	mu    sync.Mutex
	rules []rule
	keys  []string // the Idempotency-Key of each create request
}

// rule spoils the first answer to a request that begins and ends so.
type rule struct {
	method, end string
	command     string
	params      map[string]any
}

// keepWaiting is the command of a rule that lets the page wait for ever.
const keepWaiting = ""

// paused is an answer that waits for us.
type paused struct {
	RequestID string
	Request   struct {
		Method, URL string
		Headers     map[string]string
	}
}

func spoil(tab *tab, rules ...rule) *spoiler {
	s := &spoiler{tab: tab, rules: rules}
	tab.mu.Lock()
	tab.onEvent = s.hear
	tab.mu.Unlock()
	tab.call("Fetch.enable", map[string]any{"patterns": []map[string]any{{"urlPattern": "*", "requestStage": "Response"}}}, nil)
	return s
}

// also adds a rule.
func (s *spoiler) also(r rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, r)
}

func (s *spoiler) hear(m message) {
	if m.Method != "Fetch.requestPaused" {
		return
	}
	var p paused
	if err := json.Unmarshal(m.Params, &p); err != nil {
		s.tab.t.Errorf("%s: %v", m.Method, err)
		return
	}
	command, params := s.verdict(p)
	if command == keepWaiting {
		return
	}
	params["requestId"] = p.RequestID
	if _, err := s.tab.post(command, params); err != nil && s.tab.browser.gone() == nil {
		s.tab.t.Errorf("%s: %v", command, err)
	}
}

func (s *spoiler) verdict(p paused) (command string, params map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key := p.Request.Headers["Idempotency-Key"]; key != "" {
		s.keys = append(s.keys, key)
	}
	i := slices.IndexFunc(s.rules, func(r rule) bool {
		return r.method == p.Request.Method && strings.HasSuffix(p.Request.URL, r.end)
	})
	if i < 0 {
		return "Fetch.continueRequest", map[string]any{}
	}
	r := s.rules[i]
	s.rules = slices.Delete(s.rules, i, i+1)
	return r.command, r.params
}

// used reports whether every rule was used.
func (s *spoiler) used() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.rules) == 0
}

// acceptDialogs leaves the page although it asks whether to stay.
func (s *spoiler) acceptDialogs() {
	s.tab.mu.Lock()
	defer s.tab.mu.Unlock()
	s.tab.onEvent = func(m message) {
		s.hear(m)
		if m.Method == "Page.javascriptDialogOpening" {
			_, _ = s.tab.post("Page.handleJavaScriptDialog", map[string]any{"accept": true}) // or it is gone already
		}
	}
}

// wantOneKey looks whether every rule was used, and every repetition of the
// create request could be recognised.
func (s *spoiler) wantOneKey() {
	s.tab.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.keys) != 3 || s.keys[0] != s.keys[1] || s.keys[1] != s.keys[2] {
		s.tab.t.Errorf("create was asked for with the keys %q, want one key three times", s.keys)
	}
	if len(s.rules) > 0 {
		s.tab.t.Errorf("these were never asked for: %v", s.rules)
	}
}

// TestConsoleGoesOnAfterTrouble loses the answers to what the page asks for.
func TestConsoleGoesOnAfterTrouble(t *testing.T) {
	t.Parallel()
	oneBackend(t, "the page decides, which knows the API alone")
	work := newGate(t, encodeRun, hold) // or the video could be ready before the page looks again
	c := openConsole(t, work.tools())
	c.enter(apiKey)
	c.waitText(".empty", "No videos yet")
	busy := `{"title":"Unavailable","status":503,"code":"database_unavailable","detail":"The database is having a rest."}`
	lost := map[string]any{"errorReason": "ConnectionReset"}
	s := spoil(c.tab,
		rule{"POST", "/api/video", "Fetch.failRequest", lost},
		rule{"PUT", "", "Fetch.failRequest", lost},
		rule{"POST", "/complete-upload", "Fetch.failRequest", lost})
	eval[any](c.tab, `document.querySelector("#open-upload").click()`)
	eval[any](c.tab, `document.querySelector('.sheet input[value="public"]').click()`)
	eval[any](c.tab, `document.querySelector("#thumbnails").value = "0, 1.5"`)
	c.upload(clip(t, tinyClip), "film.mp4", "144p")
	c.waitText(".transfer .problem", "The upload broke off.")
	c.tab.shoot("broken")
	c.click(".transfer button", "Try again")
	c.waitText(".transfer .state", "Uploaded.")
	s.also(rule{"GET", "?limit=24", "Fetch.fulfillRequest", map[string]any{
		"responseCode": http.StatusServiceUnavailable, "body": base64.StdEncoding.EncodeToString([]byte(busy)),
		"responseHeaders": []map[string]string{{"name": "Retry-After", "value": "8"}},
	}})
	c.waitText(".trouble", "The database is having a rest. Trying again in 8 s.")
	c.until("the work to begin", readyTimeout, func() bool { return work.runs() > 0 })
	c.tab.shoot("trouble")
	work.release()
	c.waitText(".video .badge", "ready")
	c.wait("the trouble to be over", `document.querySelector(".trouble") === null`)

	s.wantOneKey()
	if list := c.call("GET", "/api/video", nil); strings.Count(string(list.body), `"filename"`) != 1 {
		t.Errorf("the list is %s, want one video", list.body)
	}
	c.wantStills()
	c.wantHarmless()
}

// wantStills opens the only video, a public one, and looks at its thumbnails.
func (c *console) wantStills() {
	c.t.Helper()
	c.click(".video .name", "film")
	c.openRoom("Files")
	c.wait("two thumbnails", `[...document.querySelectorAll(".stills img[alt^=Thumbnail]")].filter((i) => i.naturalHeight === 144).length === 2`)
	c.tab.shoot("stills")
}

// TestConsoleGoesOnWithALargeFile where it broke off, by itself. The answer that
// is lost is to a piece that arrived: none may be stored twice.
func TestConsoleGoesOnWithALargeFile(t *testing.T) {
	oneMachineOnly(t, "the page does the same there, and so does TestAResumableUploadSurvives")
	t.Parallel()
	film := clip(t, smallClip)
	c := openConsole(t, withEnv("SPOOL_MAX_UPLOAD_BYTES", "1000"), withEnv("SPOOL_MAX_RESUMABLE_BYTES", strconv.Itoa(len(content(t, film)))))
	c.enter(apiKey)
	c.waitText(".empty", "No videos yet")
	spoil(c.tab, rule{"PATCH", "", "Fetch.failRequest", map[string]any{"errorReason": "ConnectionReset"}})
	c.upload(film, "film.mp4", "144p")
	c.waitText(".transfer .state", "Uploaded.")
	c.waitText(".video .badge", "ready")
	c.wantLeftOut()
	c.wantRoomForManyFiles(film)
	c.wantHarmless()
	c.wantResumption(film)
}

// wantLeftOut chooses files that cannot be uploaded: each is named with the reason, and none becomes a video.
func (c *console) wantLeftOut() {
	c.t.Helper()
	dir := c.t.TempDir()
	files := map[string][]byte{
		"long.mp4": content(c.t, clip(c.t, chunksClip)), "empty.mp4": nil, "notes.txt": []byte("Milk, bread\nand ü"),
		"photo.mp4": []byte("\xff\xd8\xff\xe0 a photo"), "folder.zip": []byte("PK\x03\x04"),
	}
	var paths []string
	for name, body := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, body, 0o600); err != nil {
			c.t.Fatal(err)
		}
		paths = append(paths, path)
	}
	c.click("#open-upload", "Upload")
	c.choose("#files", paths...)
	c.waitText("#left-out", "5 files were left out")
	for _, want := range []string{"and this server accepts files of up to", "empty.mp4 is empty.", "notes.txt is text, not a video.", "photo.mp4 is a picture, not a video.", "folder.zip is an archive or a document, not a video."} {
		c.waitText("#left-out", want)
	}
	c.look("left-out")
	c.wait("no file to be chosen", `document.querySelectorAll("#chosen li").length === 0`)
	c.click("#upload", "Upload")
	c.waitText(".sheet .problem", "Choose a file first")
	c.click(".sheet button", "")
	if list := c.call("GET", "/api/video", nil); strings.Count(string(list.body), `"filename"`) != 1 {
		c.t.Errorf("the list is %s, want one video", list.body)
	}
}

// wantRoomForManyFiles chooses twelve files: the dialog keeps its title and its button, and ends where its form ends.
func (c *console) wantRoomForManyFiles(film string) {
	c.t.Helper()
	var paths []string
	for i := range 12 {
		path := filepath.Join(c.t.TempDir(), fmt.Sprintf("a rather long name of film number %d.mp4", i))
		if err := os.Symlink(film, path); err != nil {
			c.t.Fatal(err)
		}
		paths = append(paths, path)
	}
	c.click("#open-upload", "Upload")
	c.choose("#files", paths...)
	c.wait("twelve files", `document.querySelectorAll("#chosen li").length === 12`)
	c.look("twelve-files")
	eval[any](c.tab, `document.querySelector(".sheet").scrollTo(0, 1e6)`)
	const within = `((inner, outer) => inner.top >= outer.top - 1 && inner.bottom <= outer.bottom + 1)`
	for _, part := range []string{"#upload-title", ".sheet .head button", "#upload"} {
		if !eval[bool](c.tab, within+`(document.querySelector("`+part+`").getBoundingClientRect(), document.querySelector(".sheet").getBoundingClientRect())`) {
			c.t.Errorf("%s has left the dialog", part)
		}
	}
	if left := eval[float64](c.tab, `document.querySelector(".sheet").getBoundingClientRect().bottom - document.querySelector(".sheet form").getBoundingClientRect().bottom`); left > 40 {
		c.t.Errorf("the dialog goes on for %.0f px below its form", left)
	}
	c.click(".sheet .head button", "")
	c.load("Page.reload", nil)
}

// wantResumption reloads the page while a file is on its way: all of it has arrived, and the
// page does not know. Chosen again, it is recognised, and nothing is sent twice.
func (c *console) wantResumption(film string) {
	c.t.Helper()
	held := spoil(c.tab, rule{method: "PATCH", command: keepWaiting})
	c.upload(film, "again.mp4", "144p")
	c.until("the upload to be held", readyTimeout, func() bool { return held.used() })
	patches := c.sent("PATCH")
	held.acceptDialogs()
	c.load("Page.reload", nil)
	c.waitText(".interrupted .state", "Choose the file again")
	other, same := filepath.Join(c.t.TempDir(), "other.mp4"), filepath.Join(c.t.TempDir(), "again.mp4")
	for _, path := range []string{other, same} {
		if err := os.Symlink(film, path); err != nil {
			c.t.Fatal(err)
		}
	}
	c.choose("input.again", other)
	c.waitText(".interrupted .problem", "another file")
	c.choose("input.again", same)
	c.waitText(".transfer .state", "Uploaded.")
	c.waitText(".video .name", "again")
	if n := c.sent("PATCH"); n != patches {
		c.t.Errorf("%d more pieces were sent, want none", n-patches)
	}
	if list := c.call("GET", "/api/video?q=again", nil); strings.Count(string(list.body), `"filename"`) != 1 {
		c.t.Errorf("the list is %s, want one video", list.body)
	}
}

// sent counts the requests of the page with a method.
func (c *console) sent(method string) (n int) {
	type sent struct{ Request struct{ Method string } }
	for _, r := range heard[sent](c.tab, "Network.requestWillBeSent") {
		if r.Request.Method == method {
			n++
		}
	}
	return n
}

// TestConsoleShowsRefusals: what the server says is what the person reads.
func TestConsoleShowsRefusals(t *testing.T) {
	oneBackend(t, "the page shows what the API says")
	t.Parallel()
	c := openConsole(t)
	c.enter(apiKey)
	c.waitText(".empty", "No videos yet")
	odd := filepath.Join(t.TempDir(), "odd") // no browser can say what it is
	if err := os.WriteFile(odd, []byte("\x00\x01this is no film"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.upload(odd, "letter.mp4")
	c.waitText(".sheet .problem", "Choose at least one resolution.")
	c.waitText("#chosen", "letter.mp4") // it need not be chosen again
	c.tick("144p")
	c.click("#upload", "Upload")
	refusal := "The file does not begin like any video format"
	c.waitText(".transfer .problem", refusal)
	c.tab.shoot("refused")
	c.waitText(".empty", "No videos yet") // what was refused leaves nothing behind
	u := c.create(newVideo{Filename: "letter.mp4", Resolutions: []string{"144p"}})
	c.put(u, odd)
	if r := c.call("POST", "/api/video/"+u.ID+"/complete-upload", nil); r.status < 400 {
		t.Fatalf("a file that is no video is accepted: %s", r.body)
	}
	c.set("#filter", "fail")
	c.waitText(".video .failure", refusal)
	c.set("#filter", "")
	c.waitText(".trouble-line", "1 failed or abandoned upload is not shown.")
	c.click(".trouble-line button", "Show failed ones")
	c.waitText(".video .badge", "failed")
	c.click(".video .name", "letter")
	c.openRoom("Files")
	c.waitText(".resolution .badge", "failed")
	if eval[bool](c.tab, `[...document.querySelectorAll(".resolution button")].some((b) => b.checkVisibility() && b.textContent === "Try again")`) {
		t.Error("the page offers to try again what cannot succeed")
	}
	if eval[bool](c.tab, `document.querySelector("#tab-text").checkVisibility()`) {
		t.Error("the page offers captions for a video that nobody will ever see")
	}
	eval[any](c.tab, `location.hash = "#/video/`+nobody+`"`)
	c.waitText("main .problem", "no video")
	c.click("button", "Forget key")
	c.wait("the question for the key", `document.activeElement.id === "key" && sessionStorage.length === 0 && localStorage.getItem("spool.key") === null`)
	c.wantHarmless()
}

// TestConsoleCancelsAnUpload: what was called off leaves nothing behind.
func TestConsoleCancelsAnUpload(t *testing.T) {
	t.Parallel()
	c := openConsole(t)
	c.enter(apiKey)
	c.waitText(".empty", "No videos yet")
	spoil(c.tab, rule{method: "PUT", command: keepWaiting})
	c.upload(clip(t, miniClip), "film.mp4", "144p")
	c.waitText(".video .badge", "waiting for upload")
	c.waitText(".transfer .state", "100 %")
	c.click(".transfer button", "Cancel")
	c.waitText(".transfer .state", "Cancelled.")
	c.waitText(".empty", "No videos yet")
	c.wantNoVideos()
	c.wantHarmless()
}
