package e2e

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// rows is whether so many videos are shown.
func rows(n int) string {
	return fmt.Sprintf(`document.querySelectorAll(".video:not(.ghost)").length === %d`, n)
}

// set gives a field of the page a value, as a person would.
func (c *console) set(selector, value string) {
	c.t.Helper()
	eval[any](c.tab, `(() => { const f = document.querySelector(`+quote(selector)+`); f.value = `+quote(value)+`;
		for (const kind of ["input", "change"]) f.dispatchEvent(new Event(kind)); })()`)
}

// TestConsoleFindsVideos searches, sorts and filters, and watches what others do.
func TestConsoleFindsVideos(t *testing.T) {
	oneBackend(t, "the page asks the same API there")
	t.Parallel()
	c := openConsole(t)
	summer := c.create(newVideo{Filename: "summer.mp4", Resolutions: []string{"144p"}})
	c.create(newVideo{Filename: "winter.mp4", Resolutions: []string{"144p"}})
	c.enter(apiKey)
	c.wait("both videos", rows(2))
	c.wantSizes()
	c.set("#search", "UMM")
	c.wait("the one that is searched for", rows(1))
	c.waitText(".video .name", "summer")
	c.set("#filter", "fail")
	c.waitText(".empty", "Nothing found for “UMM”")
	if got := eval[string](c.tab, `location.hash`); got != "#/?q=UMM&status=fail" {
		t.Errorf("the address is %s", got)
	}
	eval[any](c.tab, `history.back()`)
	c.wait("the search again", rows(1)+` && document.querySelector("#filter").value === ""`)
	eval[any](c.tab, `history.back()`)
	c.wait("both again", rows(2)+` && document.querySelector("#search").value === ""`)
	c.set("#sort", "oldest")
	c.wait("the older one first", rows(2)+` && document.querySelector(".video .name").textContent === "summer"`)
	c.set("#sort", "title")
	c.wait("the first title first", rows(2)+` && document.querySelector(".video .name").textContent === "summer" && location.hash === "#/?sort=title"`)
	c.call("PATCH", "/api/video/"+summer.ID, `{"title":"Zebra"}`)
	c.wait("it to move", rows(2)+` && [...document.querySelectorAll(".video .name")].map((n) => n.textContent).join() === "winter,Zebra"`)
	for _, order := range []string{"duration", "size"} {
		c.set("#sort", order)
		c.wait("the other order", rows(2)+` && document.querySelector(".library").getAttribute("aria-busy") === null`)
	}
	c.set("#sort", "")

	c.create(newVideo{Filename: "autumn.mp4", Resolutions: []string{"144p"}, Tags: []string{"sea"}})
	c.wait("what somebody else has created", rows(3)+` && document.querySelector(".video .name").textContent === "autumn"`)
	c.deleteVideo(summer.ID)
	c.wait("what somebody else has deleted to go", rows(2))
	c.wantEditing()
	c.wantTags()
	c.wantBulk()
	c.wantNewTab()
	c.wantSystem()
	c.wantKeys()
	c.wantReader()
	c.wantHarmless()
}

// wantSizes looks at the size that a card shows: none that a name only promises.
func (c *console) wantSizes() {
	c.t.Helper()
	c.waitText(".video .meta", "up to 144p · private")
	for resolutions, want := range map[string]string{
		`{"480p":{status:"processing"},"4k":{status:"processing"},"8k":{status:"fail"}}`:                                   "up to 4k",
		`{"480p":{status:"ready",width:852,height:480},"4k":{status:"processing",width:960,height:540}}`:                   "960 × 540",
		`{"480p":{status:"ready",width:480,height:852},"4k":{status:"fail"},"8k":{status:"ready",width:1080,height:1920}}`: "1080 × 1920",
		`{"480p":{status:"fail"}}`: "",
		`{}`:                       "",
	} {
		if got := eval[string](c.tab, `import("./console/format.js").then((m) => m.pictureSize({ resolutions: `+resolutions+` }))`); got != want {
			c.t.Errorf("%s is shown as %q, want %q", resolutions, got, want)
		}
	}
}

// wantOrganising gives a video a tag and a time of its deletion on its page, and takes both back.
func (c *console) wantOrganising(u upload) {
	c.t.Helper()
	const panel = "[aria-labelledby=organising-title]"
	c.click(panel+" button", "Edit")
	c.set("#new-tags", "sea, spring")
	c.set("#video-expiry", "at")
	c.set("#video-at", "2130-01-02T12:00")
	c.look("organising")
	c.click(panel+" button", "Save")
	c.waitText(panel+" .tags", "spring")
	if state := string(c.call("GET", "/api/video/"+u.ID, nil).body); !strings.Contains(state, `"tags":["sea","spring"]`) || !strings.Contains(state, `"expiresAt":"2130-01-0`) {
		c.t.Errorf("the video is %s, want two tags and an expiry", state)
	}
	c.click(panel+" button", "Edit")
	eval[any](c.tab, `document.querySelectorAll("`+panel+` .chip input").forEach((box) => box.click())`)
	c.set("#video-expiry", "never")
	c.click(panel+" button", "Save")
	c.waitText(panel+" dd", "none")
}

// wantTags shows the videos with a tag, and changes the tags of both.
func (c *console) wantTags() {
	c.t.Helper()
	c.wait("the tag with its count", `document.querySelector(".tag-list")?.innerText.replace(/\s+/g, " ") === "sea 1"`)
	eval[any](c.tab, `document.querySelector(".tag-list button").click()`)
	c.wait("the video with the tag", rows(1)+` && location.hash === "#/?tag=sea"`)
	eval[any](c.tab, `history.back()`)
	c.wait("both without a tag", rows(2))
	c.set("#visibility", "public")
	c.waitText(".empty", "No video fits these filters.")
	c.set("#visibility", "")
	c.wait("both again", rows(2))
	eval[any](c.tab, `document.querySelector(".pick input").click()`)
	c.click(".bulk button", "Select all shown")
	c.click(".bulk button", "Change")
	c.set("#bulk-add", "winter, 2030")
	c.set("#bulk-expiry", "at")
	c.set("#bulk-at", "2130-01-02T12:00")
	c.set("#bulk-access", "public")
	c.look("tags")
	c.click("dialog button", "Change 2 videos")
	c.wait("the change to end", `document.querySelector(".bulk").hidden`)
	c.wait("the new tags with their counts", `document.querySelector(".tag-list").innerText.replace(/\s+/g, " ") === "2030 2 sea 1 winter 2"`)
	if list := string(c.call("GET", "/api/video?tag=winter&tag=2030", nil).body); strings.Count(list, `"expiresAt":"2130-01-0`) != 2 || strings.Count(list, `"isPublic":true`) != 2 {
		c.t.Errorf("the list is %s, want two public videos that expire", list)
	}
}

// wantBulk adds a resolution to all videos, and deletes them.
func (c *console) wantBulk() {
	c.t.Helper()
	eval[any](c.tab, `document.querySelector(".pick input").click()`)
	c.waitText(".bulk", "1 video selected")
	c.click(".bulk button", "Select all shown")
	c.waitText(".bulk", "2 videos selected")
	c.look("selection")
	c.click(".bulk button", "Delete selected")
	c.click("dialog button", "Keep them")
	c.wait("the question to go", `document.querySelector("dialog[open]") === null`)
	c.set("#bulk-resolution", "240p")
	c.click(".bulk button", "Add resolution")
	c.wait("the selection to end", `document.querySelector(".bulk").hidden`)
	if list := c.call("GET", "/api/video", nil); strings.Count(string(list.body), `"240p"`) != 2 {
		c.t.Errorf("the list is %s, want 240p in both videos", list.body)
	}
	eval[any](c.tab, `document.querySelector(".pick input").click()`)
	c.click(".bulk button", "Delete selected")
	c.click("dialog button", "Delete")
	c.wait("one video to go", rows(1))
}

// wantNewTab opens the page in another tab, which gets the key from this one.
func (c *console) wantNewTab() {
	c.t.Helper()
	defer c.tab.leave(c.tab.enter(c.url + "/"))
	c.wait("the list in a new tab, without a question", rows(1))
	if eval[bool](c.tab, `localStorage.getItem("spool.key") !== null`) {
		c.t.Error("the key outlives the browser, although nobody asked for that")
	}
}

// wantSystem looks at workers and queue.
func (c *console) wantSystem() {
	c.t.Helper()
	eval[any](c.tab, `document.querySelector("[data-route=system]").click()`)
	c.waitText(".worker .badge", "alive")
	c.waitText(".worker .meta", "sandbox: ")
	c.waitText(".usage", "Free disk space")
	c.waitText("main th", "Uploaded files")
	c.look("system")
}

// wantKeys makes a key in the settings, uses it and revokes it, and looks at what another tenant uses.
func (c *console) wantKeys() {
	c.t.Helper()
	c.cli("tenants", "set", "acme", "--max-videos=10", "--max-bytes=5GiB", "--max-minutes-per-day=600")
	eval[any](c.tab, `location.hash = "#/settings"`)
	c.waitText(".tenants tr:first-child td", "0 of 10")
	keys := func(n int) string { return fmt.Sprintf(`document.querySelectorAll(".key").length === %d`, n) }
	c.wait("the key in use, which cannot be revoked here", keys(1)+` && document.querySelector(".key .badge.ready") !== null && document.querySelector(".key button") === null`)
	c.click("summary", "Make a key")
	c.set("#new-key-name", "<img src=x onerror=alert(1)>")
	eval[any](c.tab, `document.querySelector('.chip input[value="read"]').click()`)
	c.click("button", "Make key")
	c.waitText(".problem", "Tick at least one")
	eval[any](c.tab, `document.querySelector('.chip input[value="write"]').click()`)
	c.set("#new-key-life", "2592000")
	c.click("button", "Make key")
	c.waitText(".note", "shown this once")
	c.wait("the new key", keys(2)+` && /^write · made .* · expires /.test(document.querySelector(".key .meta").textContent)`)
	secret := eval[string](c.tab, `document.querySelector(".note code").textContent`)
	c.callAs(secret, "GET", "/api/usage", nil).problem(c.t, 403, "insufficient_scope")
	c.look("keys")
	c.click(".key button", "Revoke")
	c.click("dialog button", "Revoke")
	c.wait("the key to go", keys(1)+` && document.activeElement.id === "keys-title"`)
	c.callAs(secret, "GET", "/api/usage", nil).problem(c.t, 401, "invalid_api_key")
	eval[any](c.tab, `location.hash = "#/"`)
	c.wait("the list", rows(1))
}

// wantReader enters with a key that may only read.
func (c *console) wantReader() {
	c.t.Helper()
	key := c.newKey("--scopes=read", "--tenant=default").Secret
	c.click("button", "Forget key")
	c.enter(key)
	c.wait("the list", rows(1))
	if eval[bool](c.tab, `[...document.querySelectorAll("#open-upload, .pick, .bulk")].some((e) => e.checkVisibility())`) {
		c.t.Error("a key that may only read is offered to upload or select")
	}
	if eval[bool](c.tab, `document.querySelector("[data-route=system]").checkVisibility()`) {
		c.t.Error("a key without the scope admin is offered to see the system")
	}
	eval[any](c.tab, `document.querySelector(".video .name").click()`)
	c.waitText(".title .badge", "waiting for upload")
	if eval[bool](c.tab, `[...document.querySelectorAll("main button:not(.copy), main form")].some((e) => e.checkVisibility() && !e.closest("details"))`) {
		c.t.Error("a key that may only read is offered to change a video")
	}
	eval[any](c.tab, `location.hash = "#/settings"`)
	c.waitText(".scopes .no", "may not delete videos")
	c.waitText(".usage", "Being converted")
	if eval[bool](c.tab, `[...document.querySelectorAll(".keys, .tenants, .hooks")].some((e) => !e.closest("[aria-labelledby=watermarks-title]"))`) {
		c.t.Error("a key that may only read sees keys, tenants or webhooks")
	}
	c.look("settings")

	c.click("button", "Forget key")
	c.enter(c.newKey("--tenant=acme").Secret)
	eval[any](c.tab, `location.hash = "#/settings"`)
	c.waitText("#keys-title", "Keys of this tenant")
	if eval[bool](c.tab, `document.querySelector("[data-route=system]").checkVisibility() || document.querySelector("main [href='#/system'], .tenants") !== null`) {
		c.t.Error("a customer's key is offered to see the whole service")
	}
	eval[any](c.tab, `location.hash = "#/system"`)
	c.wait("the library instead of the system", `document.title === "Spool"`)

	c.click("button", "Forget key")
	c.enter(c.newKey("--scopes=write", "--tenant=default").Secret)
	eval[any](c.tab, `location.hash = "#/"`)
	c.waitText(".empty", "This key may not see videos")
	if eval[bool](c.tab, `[...document.querySelectorAll(".problem, .tools")].some((e) => e.checkVisibility())`) {
		c.t.Error("a key that may not read is shown an error, or offered to search")
	}
}

// wantEditing renames a video and changes its metadata.
func (c *console) wantEditing() {
	c.t.Helper()
	u := c.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, CustomMetadata: []byte(`{"n":12.50,"s":"x"}`)})
	c.show(u)
	c.waitText("h1", "a")
	c.click("button", "Rename")
	c.set("#new-title", hostileTitle)
	c.click(".rename button", "Save")
	c.waitText("h1", hostileTitle)
	c.wantOrganising(u)
	c.click("[aria-labelledby=metadata-title] button", "Edit")
	c.click("button", "Add a field")
	const last = `[...document.querySelectorAll(".pair-row")].at(-1).querySelector`
	eval[any](c.tab, last+`(".key").value = "s"`)
	c.click(".metadata ~ .actions button", "Save")
	c.waitText("form .problem", "twice")
	eval[any](c.tab, last+`(".key").value = "new"`)
	eval[any](c.tab, last+`(".value").value = "7"`)
	c.look("editing")
	c.click(".metadata ~ .actions button", "Save")
	c.waitText(".facts.wide dd", "7")
	state := c.call("GET", "/api/video/"+u.ID, nil)
	if want := []byte(`"customMetadata":{"n":12.5,"s":"x","new":"7"}`); !bytes.Contains(state.body, want) {
		c.t.Errorf("the video is %s, want %s", state.body, want)
	}
	c.deleteVideo(u.ID)
	eval[any](c.tab, `location.hash = "#/"`)
	c.wait("the list", rows(2))
}
