package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spool-video/spool/test/need"
)

// TestConsoleShowsTheUnusual looks at titles that do not wrap, that run the other way or that look like
// markup, at every resolution there is, a failure, an upload under way and many webhooks.
func TestConsoleShowsTheUnusual(t *testing.T) {
	oneBackend(t, "the page shows what the API says")
	need.TimeFor(t, "TestConsoleInABrowser and TestConsoleFindsVideos show the usual")
	t.Parallel()
	c := openConsole(t, allowLoopback)
	all := []string{"144p", "240p", "360p", "480p", "720p", "1080p", "1440p", "4k", "8k"}
	long := c.titled(strings.Repeat("W", 200), all)
	c.titled("סרט קצר על חופשת הקיץ (2024) של המשפחה בים", all[:2])
	c.titled("Ferien 🏖️ <b>am</b> Meer & 日本語の題名", all[:1])
	failed := c.create(newVideo{Filename: strings.Repeat("name-", 40) + ".mp4", Resolutions: all[:3]})
	c.putBody(failed, strings.NewReader("this is no film"))
	c.call("POST", "/api/video/"+failed.ID+"/complete-upload", nil)

	c.enter(apiKey)
	c.wait("all videos", rows(4))
	if got := eval[string](c.tab, `getComputedStyle([...document.querySelectorAll(".video .name")].find((n) => n.textContent.startsWith("סרט"))).direction`); got != "rtl" {
		t.Errorf("a title in Hebrew runs %s", got)
	}
	held := spoil(c.tab, rule{method: "PUT", command: keepWaiting})
	c.upload(clip(t, miniClip), strings.Repeat("upload", 30)+".mp4", "144p")
	c.until("the upload to be held", readyTimeout, func() bool { return held.used() })
	c.waitText(".transfer .state", "100 %")
	c.look("unusual-list")
	c.click(".dock button", "Hide")
	c.show(long)
	c.openRoom("Files")
	c.wait("all resolutions", fmt.Sprintf(`document.querySelectorAll(".resolution").length === %d`, len(all)))
	c.pictures("unusual-resolutions", nil)
	c.show(failed)
	c.waitText(".title .badge", "failed")
	c.pictures("unusual-failed", nil)
	c.tab.call("Fetch.disable", nil, nil)
	c.wantManyWebhooks()
	c.wantHarmless()
}

// titled creates a video with a title.
func (c *console) titled(title string, resolutions []string) upload {
	c.t.Helper()
	return decode[upload](c.t, c.call("POST", "/api/video", map[string]any{"filename": "a.mp4", "title": title, "resolutions": resolutions, "isPublic": true}), http.StatusCreated)
}

// wantManyWebhooks looks at many webhooks, makes one more, and follows a test event to a receiver that refuses it.
func (c *console) wantManyWebhooks() {
	c.t.Helper()
	r := receiveHooks(c.t)
	for i := range 9 {
		path := fmt.Sprintf("/hooks/%d", i)
		if i == 4 {
			path += "/" + strings.Repeat("token", 60)
		}
		c.call("POST", "/api/webhook", map[string]any{"url": r.URL + path, "events": hookEvents[:i%5], "description": "Number " + fmt.Sprint(i)})
	}
	eval[any](c.tab, `location.hash = "#/settings"`)
	c.wait("the webhooks", `document.querySelectorAll(".hook").length === 9`)
	c.click("summary", "Add a webhook")
	c.set("#hook-url", r.URL+"/new")
	c.click("button", "Add webhook")
	c.waitText(".note", "shown this once")
	c.wait("the new webhook", `document.querySelectorAll(".hook").length === 10`)
	r.isDown(true)
	c.click(".hook:last-child button", "Send a test")
	c.wait("the answer of the receiver", `[...document.querySelectorAll(".hook td")].some((d) => d.textContent.startsWith("503"))`)
	c.look("many-webhooks")
	c.wantFocusKept()
}

// wantFocusKept has the focus in a log with a delivery that is untried for long.
func (c *console) wantFocusKept() {
	c.t.Helper()
	eval[any](c.tab, `void (() => {
		const real = fetch;
		globalThis.looks = 0;
		globalThis.fetch = (url, options) => String(url).includes("/deliveries")
			? (looks++, Promise.resolve(new Response('{"deliveries":[{"id":"x","type":"webhook.test","state":"pending"}]}'))) : real(url, options);
	})()`)
	c.click(".hook:first-child button", "Log")
	c.wait("the log to be looked at again", `looks > 1`)
	eval[any](c.tab, `document.querySelector(".hook:first-child .scroll").focus()`)
	eval[any](c.tab, `new Promise((resolve) => setTimeout(resolve, 2500))`) // longer than it takes to look again
	if !eval[bool](c.tab, `document.activeElement.matches(".hook:first-child .scroll")`) {
		c.t.Error("the log takes the focus away")
	}
	eval[any](c.tab, `(document.activeElement.blur(), looks = 0)`)
	c.wait("the log to be looked at again", `looks > 0`)
}

// TestConsoleKeepsItsPlace does what people do who know no other way: they go back, reload, lose the network.
func TestConsoleKeepsItsPlace(t *testing.T) {
	oneMachineOnly(t, "the page does the same there")
	need.TimeFor(t, "TestConsoleFindsVideos goes back, and TestConsoleGoesOnAfterTrouble loses the network")
	t.Parallel()
	c := openConsole(t)
	u := c.create(newVideo{Filename: "place.mp4", Resolutions: []string{"144p"}})
	c.enter(apiKey)
	c.wait("the video", rows(1))

	// The link that skips the navigation leaves the address alone: a reload shows the same page.
	c.show(u)
	c.waitText("h1", "place")
	eval[any](c.tab, `document.querySelector(".skip").focus(); document.activeElement.click()`)
	c.wait("the focus in the content", `document.activeElement.id === "view"`)
	c.load("Page.reload", nil)
	c.waitText("h1", "place")

	// A question goes with the page that it is about.
	eval[any](c.tab, `location.hash = "#/"`)
	c.wait("the list", rows(1))
	c.show(u)
	c.click("button", "Delete video")
	c.wait("the question", `document.querySelector("dialog.question[open]") !== null`)
	eval[any](c.tab, `history.back()`)
	c.wait("the list without a question", rows(1)+` && document.querySelector("dialog[open]") === null`)

	c.wantUploadWithoutNetwork()
	c.wantUploadOfAWrongBrowser()
	c.wantUploadWithoutKey()
	c.wantHarmless()
}

// wantUploadWithoutNetwork loses the network before an upload, and again in the middle of it.
func (c *console) wantUploadWithoutNetwork() {
	c.t.Helper()
	film := filepath.Join(c.t.TempDir(), "film.mp4")
	if err := os.WriteFile(film, content(c.t, clip(c.t, tinyClip)), 0o600); err != nil {
		c.t.Fatal(err)
	}
	network := func(offline bool, bytesPerSecond int) {
		c.tab.call("Network.emulateNetworkConditions", map[string]any{"offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": bytesPerSecond}, nil)
	}
	network(true, -1)
	c.wantRequestGivenUp()
	c.upload(film, "no network.mp4", "144p")
	c.waitText(".transfer .state", "No network.")
	network(false, 5000) // slow enough to be cut, also by a machine that has much to do
	c.wait("a part of the file to be sent", `document.querySelector(".transfer progress").value > 0`)
	network(true, -1)
	c.waitText(".transfer .state", "No network.")
	network(false, -1)
	c.waitText(".transfer .state", "Uploaded.")
	c.waitText(".video .badge", "ready")
}

// wantRequestGivenUp closes the form while it waits for the network with what it asks for.
func (c *console) wantRequestGivenUp() {
	c.t.Helper()
	c.click("#open-upload", "Upload")
	eval[any](c.tab, `document.querySelector('.sheet input[value="url"]').click()`)
	c.set("#source-url", "https://films.invalid/given-up.mp4")
	c.click("#upload", "Fetch")
	c.waitText(".sheet [role=status]", "No network.")
	c.click(".sheet button[aria-label=Close]", "")
	c.wait("the request to be given up", `!document.querySelector("#upload").disabled && document.querySelector(".sheet [role=status]") === null`)
	eval[any](c.tab, `document.querySelector('.sheet input[value="files"]').click()`)
}

// wantUploadOfAWrongBrowser uploads with a browser that believes to have no network.
func (c *console) wantUploadOfAWrongBrowser() {
	c.t.Helper()
	eval[any](c.tab, `void Object.defineProperty(navigator, "onLine", { value: false, configurable: true })`)
	lost := spoil(c.tab, rule{"PUT", "", "Fetch.failRequest", map[string]any{"errorReason": "ConnectionReset"}})
	c.upload(clip(c.t, miniClip), "wrong.mp4", "144p")
	c.waitText(".transfer:last-child .state", "Uploaded.")
	if !lost.used() {
		c.t.Error("the upload was not interrupted")
	}
	c.tab.call("Fetch.disable", nil, nil)
	eval[any](c.tab, `delete navigator.onLine`)
}

// wantUploadWithoutKey forgets the key in the middle of an upload. With the key, the upload can go on.
func (c *console) wantUploadWithoutKey() {
	c.t.Helper()
	held := spoil(c.tab, rule{method: "PUT", command: keepWaiting})
	c.upload(clip(c.t, miniClip), "no key.mp4", "144p")
	c.until("the upload to be held", readyTimeout, func() bool { return held.used() })
	c.click("button", "Forget key")
	c.click("dialog button", "Forget")
	c.enter(apiKey)
	c.waitText(".interrupted .name", "no key.mp4")
	c.tab.call("Fetch.disable", nil, nil)
}
