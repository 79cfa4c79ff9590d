package e2e

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"
)

// readmeFilms are the videos that the pictures of the README show. ffmpeg computes them.
var readmeFilms = []struct{ title, source string }{
	{"Paper lanterns", "gradients=size=1280x720:rate=25:c0=#2b0a1a:c1=#d1495b:c2=#edae49:n=3:type=circular:speed=0.02:seed=7"},
	{"Test card", "testsrc2=size=1280x720:rate=25"},
	{"Deep sea", "gradients=size=1280x720:rate=25:c0=#020617:c1=#0c4a6e:c2=#22d3ee:c3=#082f49:n=4:type=radial:speed=0.02:seed=4"},
	{"Sunrise over the flats", "gradients=size=1280x720:rate=25:c0=#1e1b4b:c1=#be185d:c2=#fb923c:c3=#fde68a:n=4:type=linear:speed=0.02:seed=21"},
	{"Carpet", "sierpinski=size=1280x720:rate=25:type=carpet:seed=3,colorize=hue=205:saturation=0.5:lightness=0.5"},
	{"Northern lights", "gradients=size=1280x720:rate=25:c0=#04101c:c1=#0f5f5a:c2=#7ad67f:c3=#241a4a:n=4:type=linear:speed=0.02:seed=11"},
	{"Marbles", "gradients=size=1280x720:rate=25:c0=#f8fafc:c1=#6366f1:c2=#0f172a:n=3:type=spiral:speed=0.02:seed=2"},
	{"Mandelbrot, from afar", "mandelbrot=size=1280x720:rate=25:start_scale=0.6:end_scale=0.02:end_pts=200"},
}

// readmeScreen is how large a page is drawn.
var readmeScreen = map[string]any{"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": false}

// TestPicturesOfTheREADME makes docs/images: the console and the player, of videos that ffmpeg computes. It runs
// where SPOOL_README_PICTURES names the folder (make test-long SUITE=pictures).
func TestPicturesOfTheREADME(t *testing.T) {
	folder := os.Getenv("SPOOL_README_PICTURES")
	if folder == "" {
		t.Skip("SPOOL_README_PICTURES names no folder for the pictures")
	}
	c := openConsole(t, pictured())
	var last watch
	for _, f := range readmeFilms {
		film := filepath.Join(t.TempDir(), "film.mp4")
		if err := runFFmpeg("-f", "lavfi", "-i", f.source, "-f", "lavfi", "-i", "sine=frequency=220:sample_rate=48000", "-t", "6",
			"-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-c:a", "aac", film); err != nil {
			t.Fatal(err)
		}
		last = c.publish(newVideo{Filename: "film.mp4", Title: f.title, Resolutions: []string{"720p"}, IsPublic: true}, film)
	}
	c.tab.call("Emulation.setDeviceMetricsOverride", readmeScreen, nil)
	c.enter(apiKey)
	c.wait("the cards with their pictures", rows(len(readmeFilms))+` && [...document.querySelectorAll(".video img")].every((i) => i.complete && i.naturalWidth > 0)`)
	eval[any](c.tab, `void Promise.all([...document.querySelectorAll(".video img")].map((i) => i.decode()))
		.then(() => setTimeout(() => { window.drawn = true; }, 500))`)
	c.wait("the pictures to be drawn", `window.drawn === true`)
	c.keep(filepath.Join(folder, "console.webp"))

	v := newVisitor(t, c.server)
	v.tab.call("Emulation.setDeviceMetricsOverride", readmeScreen, nil)
	v.visit(last.WatchURL)
	v.wait("the player", inPlayer+` !== undefined`)
	eval[any](v.tab, inPlayer+`.play()`)
	v.waitPlaying()
	v.tab.call("Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": 640, "y": 400}, nil) // shows the controls
	(&console{c.server, v.tab}).keep(filepath.Join(folder, "player.webp"))
}

// keep writes a picture of what can be seen.
func (c *console) keep(path string) {
	c.t.Helper()
	var picture struct{ Data string }
	c.tab.call("Page.captureScreenshot", map[string]any{"format": "webp", "quality": 85}, &picture)
	data, err := base64.StdEncoding.DecodeString(picture.Data)
	if err == nil {
		err = os.WriteFile(path, data, 0o644)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}
