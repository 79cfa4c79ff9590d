package e2e

import (
	"bytes"
	"strings"
	"testing"
)

// asked counts the requests of the page for addresses that end so.
func (c *console) asked(end string) (n int) {
	type sent struct{ Request struct{ URL string } }
	for _, r := range heard[sent](c.tab, "Network.requestWillBeSent") {
		if strings.HasSuffix(r.Request.URL, end) {
			n++
		}
	}
	return n
}

// show opens the page of a video.
func (c *console) show(u upload) { eval[any](c.tab, `location.hash = "#/video/`+u.ID+`"`) }

// TestConsoleFollowsAVideo opens videos whose stream does not get through, which
// are looked at instead, and some whose stream does.
func TestConsoleFollowsAVideo(t *testing.T) {
	t.Parallel()
	oneMachineOnly(t, "the page does the same there, and TestAVideoIsFollowed follows a video")
	work := newGate(t, encodeRun, hold)
	c := openConsole(t, work.tools())
	doomed := c.submit(tinyVideo, clip(t, miniClip))
	looked := c.submit(tinyVideo, clip(t, miniClip))
	told := c.create(tinyVideo)
	c.enter(apiKey)
	c.waitText(".video .badge", "converting")

	broken := rule{"GET", "/events", "Fetch.failRequest", map[string]any{"errorReason": "ConnectionReset"}}
	spoil(c.tab, broken, broken)
	c.show(doomed)
	c.waitText(".title .badge", "converting")
	c.deleteVideo(doomed.ID)
	c.waitText("main .problem", "has been deleted")

	c.show(looked)
	c.waitText(".title .badge", "converting")
	c.until("a second look", readyTimeout, func() bool { return c.asked(looked.ID+"?expiresIn=3600") > 1 })
	work.release()
	c.waitText(".title .badge", "ready")
	if n := c.asked(looked.ID + "/events"); n != 1 {
		t.Errorf("%d streams were opened where they do not get through, want 1", n)
	}
	c.tab.call("Fetch.disable", nil, nil)

	c.show(told)
	c.waitText(".title .badge", "waiting for upload")
	c.put(told, clip(t, miniClip))
	c.complete(told.ID)
	c.waitText(".title .badge", "ready")
	if n := c.asked(told.ID + "/events"); n != 1 {
		t.Errorf("%d streams were opened, want 1", n)
	}
	c.openRoom("Files")
	eval[any](c.tab, `document.querySelector("#more").value = "360p"`)
	c.click("#add", "Add")
	c.waitText(".resolution strong", "360p")
	c.waitText(".title .badge", "ready")
	c.tab.shoot("one more resolution")

	cut := c.create(tinyVideo)
	c.putBody(cut, bytes.NewReader([]byte("\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2"+strings.Repeat("\x00", 1000))))
	c.complete(cut.ID)
	c.show(cut)
	c.waitText(".title .badge", "failed")
	c.waitText(".situation button", "Try again")
	c.openRoom("Files")
	c.click(".resolution button", "Try again")
	c.until("another try", readyTimeout, func() bool { return c.asked("/retry") == 1 })
	c.waitText(".title .badge", "failed")
	c.tab.shoot("failed again")
	gone := c.create(tinyVideo)
	c.show(gone)
	c.waitText(".title .badge", "waiting for upload")
	c.deleteVideo(gone.ID)
	c.waitText("main .problem", "has been deleted")
	if eval[bool](c.tab, `[...document.querySelectorAll("main button")].some((e) => e.checkVisibility())`) {
		t.Error("the page offers to change what is gone")
	}
	c.wantHarmless()
}
