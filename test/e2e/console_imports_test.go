package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spool-video/spool/test/need"
)

// halfway serves a film whose second half comes when it is released, and another one, which it says it
// does not have until it is there.
type halfway struct {
	*httptest.Server
	release chan struct{}
	there   atomic.Bool
}

func serveHalfway(t *testing.T, film []byte) *halfway {
	t.Helper()
	h := &halfway{release: make(chan struct{})}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/later.mp4" && !h.there.Load() {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(film)))
		_, _ = w.Write(film[:len(film)/2])
		_ = http.NewResponseController(w).Flush()
		if strings.HasPrefix(r.URL.Path, "/films/") {
			select {
			case <-h.release:
			case <-r.Context().Done():
				return
			}
		}
		_, _ = w.Write(film[len(film)/2:])
	}))
	t.Cleanup(func() { h.CloseClientConnections(); h.Close() })
	return h
}

// TestConsoleFetchesFromAURL has the server fetch films, in two codecs, one of which fails at first.
func TestConsoleFetchesFromAURL(t *testing.T) {
	oneBackend(t, "the page asks the same API there, and TestImports and TestOtherCodecsBesideH264 look at its work")
	need.TimeFor(t, "TestImports has the server fetch, and TestConsoleFollowsAVideo shows the page beside its work")
	t.Parallel()
	av1 := newGate(t, " -c:v libsvtav1 ", exitOne)
	o := serveHalfway(t, content(t, clip(t, tinyClip)))
	c := openConsole(t, allowLoopback, av1.tools())
	c.enter(apiKey)
	c.waitText(".empty", "No videos yet")
	c.wantAddressChecked()
	c.set("#source-url", o.URL+"/films/My%20holiday.mp4?secret=1")
	c.tick("144p")
	eval[any](c.tab, `document.querySelector("#av1").click()`)
	c.click("#upload", "Fetch")
	c.waitText(".video .badge", "being fetched")
	c.click(".video .name", "My holiday")
	c.waitText(".situation", "Spool fetches the file from its address.")
	c.wait("half of the file", `document.querySelector(".situation progress").value > 0.4`)
	c.look("fetching")
	close(o.release)
	c.waitText(".title .badge", "ready")
	c.wantCodecs(av1)

	missing := c.createImport(o.URL + "/later.mp4")
	c.show(missing)
	c.waitText("main .failure", "404")
	c.wantOnlyFetchAgain(true)
	c.look("fetch-failed")
	c.asReader(func() {
		c.show(missing)
		c.waitText("main .failure", "404")
		c.wantOnlyFetchAgain(false)
	})
	c.show(missing)
	o.there.Store(true)
	c.click("button", "Fetch again")
	c.waitText(".title .badge", "ready")
	c.wantWebhooks(receiveHooks(t))
	c.wantHarmless()
}

// wantAddressChecked opens the form for addresses, and writes what is none.
func (c *console) wantAddressChecked() {
	c.t.Helper()
	c.click("#open-upload", "Upload")
	c.look("form")
	eval[any](c.tab, `document.querySelector('.sheet input[value="url"]').click()`)
	c.look("form-url")
	c.click("#upload", "Fetch")
	c.waitText(".sheet .problem", "Write the address of a video file first.")
	c.set("#source-url", "holiday.mp4")
	c.click("#upload", "Fetch")
	c.waitText(".sheet .problem", "This is not the whole address")
	c.set("#source-url", "https://10.0.0.1/a.mp4")
	c.click("#upload", "Fetch")
	c.waitText(".sheet .problem", "does not belong to the public internet")
	c.tab.shoot("form-refused")
}

// wantCodecs looks at a video whose AV1 has failed, and has it made again.
func (c *console) wantCodecs(av1 *gate) {
	c.t.Helper()
	c.openRoom("Report")
	c.waitText(".report td", "failed")
	c.openRoom("Files")
	c.waitText(".variant .badge", "AV1 failed")
	c.look("codec-failed")
	av1.open()
	c.click(".variant button", "Try again")
	c.wait("AV1 to be there", `document.querySelector(".variant .badge.ready")?.textContent === "AV1"`)
	c.waitText(".variant", "%")
	c.look("codecs")
	c.openRoom("Report")
	c.waitText(".report th", "Size in AV1")
	c.waitText(".report .saved", "in H.264")
	c.openRoom("Share")
	c.click("summary", "Addresses for developers")
	c.waitText(".address label", "MP4, 144p, AV1")
}

// wantOnlyFetchAgain looks whether it is offered to fetch the file again, and nothing that cannot help.
func (c *console) wantOnlyFetchAgain(want bool) {
	c.t.Helper()
	c.openRoom("Files")
	offered := func(words string) bool {
		return eval[bool](c.tab, `[...document.querySelectorAll("main button")].some((b) => b.checkVisibility() && b.textContent === `+quote(words)+`)`)
	}
	if got := offered("Fetch again"); got != want || offered("Try again") {
		c.t.Errorf("to fetch again is offered: %t, want %t; to try again: %t, want false", got, want, offered("Try again"))
	}
}

// asReader does something with a key that may only read.
func (c *console) asReader(do func()) {
	c.t.Helper()
	for _, key := range []string{c.newKey("--scopes=read", "--tenant=default").Secret, apiKey} {
		c.click("button", "Forget key")
		c.enter(key)
		c.wait("the page", `document.querySelector("#key") === null`)
		if key != apiKey {
			do()
		}
	}
}

// wantWebhooks adds a webhook in the settings, sends a test and looks at the log.
func (c *console) wantWebhooks(r *hookReceiver) {
	c.t.Helper()
	c.click("nav a", "Settings")
	c.click("summary", "Add a webhook")
	c.set("#hook-url", r.URL+"/events")
	c.set("#hook-description", "Publishes finished films")
	c.click("button", "Add webhook")
	c.waitText(".note", "It is shown this once")
	c.waitText(".hook .meta", "Publishes finished films · all events")
	c.click(".hook button", "Send a test")
	c.until("the test in the log", readyTimeout, func() bool {
		c.click(".hook button", "Log")
		return eval[bool](c.tab, `document.querySelector(".hook table .badge.ready")?.textContent === "delivered"`)
	})
	c.look("webhooks")
}
