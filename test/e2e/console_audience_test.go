package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// TestConsoleShowsTheAudience looks at both pages, empty and with what three viewers watched.
func TestConsoleShowsTheAudience(t *testing.T) {
	oneBackend(t, "the console asks the API only, and TestAudienceOfAVideoInABrowser counts on both")
	t.Parallel()
	c := openConsole(t, pictured())
	c.enter(apiKey)
	c.wait("the library", `document.querySelector("a[data-route=audience]")?.checkVisibility()`)
	eval[any](c.tab, `document.querySelector("a[data-route=audience]").click()`)
	c.waitText("h2", "Nothing was watched in this time")
	c.look("audience-empty")

	w := c.publish(newVideo{Filename: "film.mp4", Title: hostileName, Resolutions: []string{"144p"}, IsPublic: true}, clip(t, middleClip))
	for i := range 3 {
		body := fmt.Sprintf(`{"session":"session-%d","sequence":0,"totalSeconds":1.5,"watched":[{"quality":"144p","seconds":1.5,"first":true}],"parts":[0,1,2,%d],"startupSeconds":0.5,"referrer":"example.com"}`, i, 40+i)
		if r := c.callAs("", "POST", "/api/play/"+w.ID, body); r.status != http.StatusNoContent {
			t.Fatalf("a report is answered %d %s", r.status, r.body)
		}
	}
	c.until("the views to be counted", 30*time.Second, func() bool { return c.audience("/api/audience").WatchedSeconds > 0 })
	c.click("button", "Refresh")
	c.waitText(".audience-plot h2", "Watched time")
	c.waitText(".ranking a", hostileName)
	c.look("audience")
	c.click(".ranking a", hostileName)
	c.waitText(".audience-plot h2", "Who is still there")
	c.wait("the pictures of the film", `document.querySelectorAll(".strip > svg").length === 10`)
	eval[any](c.tab, `document.querySelector(".audience-plot summary").click()`)
	c.waitText(".audience-plot td", "3")
	c.look("audience-video")
}
