package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// TestConsoleWatermarks adds a watermark in the settings, chooses it for an upload, and deletes it.
func TestConsoleWatermarks(t *testing.T) {
	oneBackend(t, "the page asks the same API there")
	t.Parallel()
	c := openConsole(t)
	c.enter(apiKey)
	c.waitText(".empty", "No videos yet")
	c.click("a", "Settings")
	c.waitText("#watermarks-title", "Watermarks")
	file := filepath.Join(t.TempDir(), hostileName+".png")
	if err := os.WriteFile(file, []byte(logo), 0o600); err != nil {
		t.Fatal(err)
	}
	c.choose("#watermark-file", file)
	c.waitText(".key .name", hostileName)
	c.look("watermarks")
	c.click("a", "Videos")
	c.click("#open-upload", "Upload")
	c.wait("the form to offer it", `document.querySelector("#watermark option:nth-child(3)") !== null`)
	eval[any](c.tab, `document.querySelector(".sheet details").open = true`)
	eval[any](c.tab, `const s = document.querySelector("#watermark"); s.selectedIndex = 2; s.dispatchEvent(new Event("change"))`)
	c.wait("the form to ask where", `document.querySelector("#watermark-position").checkVisibility()`)
	c.look("watermark-choice")
	eval[any](c.tab, `document.querySelector("#watermark-position").value = "top-left"`)
	c.choose("#files", clip(t, tinyClip))
	c.tick("144p")
	c.click("#upload", "Upload")
	c.waitText(".video .badge", "ready")
	all := decode[struct {
		Videos []struct{ Watermark struct{ Position string } }
	}](t, c.call("GET", "/api/video", nil), http.StatusOK)
	if len(all.Videos) != 1 || all.Videos[0].Watermark.Position != "top-left" {
		t.Errorf("the videos are %+v; want one with a watermark at the top left", all.Videos)
	}
	c.click("a", "Settings")
	c.click(".key button", "Delete")
	c.click("dialog button", "Delete")
	c.wait("it to go", `document.querySelector(".key .name") === null || ![...document.querySelectorAll(".key .name")].some((e) => e.textContent.includes(`+quote(hostileName)+`))`)
	c.wantHarmless()
}
