package e2e

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

// noteLooks has each page write down when it was first painted, and how much of it moved without being asked to
// (0: nothing; Google calls up to 0.1 good).
const noteLooks = `window.looks = {paint: 0, shift: 0};
new PerformanceObserver((list) => { for (const e of list.getEntries()) if (e.name === "first-contentful-paint") looks.paint = e.startTime; }).observe({type: "paint", buffered: true});
new PerformanceObserver((list) => { for (const e of list.getEntries()) if (!e.hadRecentInput) looks.shift += e.value; }).observe({type: "layout-shift", buffered: true});`

// looks is what a page has written down.
type looks struct{ Paint, Shift float64 }

// firstFrame presses play and resolves to the milliseconds until a frame is shown.
const firstFrame = `new Promise((done) => { const begin = performance.now();
	` + inPlayer + `.requestVideoFrameCallback(() => done(performance.now() - begin));
	document.querySelector("spool-player").shadowRoot.querySelector(".big").click(); })`

// BenchmarkPages measures what people wait for in a browser with an empty cache: the console with its list, the
// page of a video there, and the watch page, whose play button is pressed as soon as there is one.
func BenchmarkPages(b *testing.B) {
	s := start(b)
	var last watch
	for range 6 {
		last = s.publish(newVideo{Filename: "a.mp4", Resolutions: []string{"360p", "144p"}, IsPublic: true}, clip(b, middleClip))
	}
	s.waitIdle()
	v := newVisitor(b, s)
	v.tab.call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": noteLooks}, nil)
	v.tab.emulate(1280, "light")
	v.visit(s.url + "/")
	eval[any](v.tab, `sessionStorage.setItem("spool.key", `+quote(apiKey)+`)`)
	sum := map[string]float64{}
	report := func(page string, l looks) {
		sum["ms-"+page+"-paint"] += l.Paint
		sum[page+"-shift"] += l.Shift
	}
	for b.Loop() {
		v.tab.call("Network.clearBrowserCache", nil, nil)
		before := v.downloaded()
		v.visit(s.url + "/?" + time.Now().Format("150405.000"))
		v.wait("the list with its posters", `document.querySelectorAll(".thumb.pictured").length === 6`)
		sum["KB-console"] += float64(v.downloaded()-before) / 1000 // the player is loaded with the first video
		report("console", eval[looks](v.tab, `looks`))
		eval[any](v.tab, `document.querySelector(".video .name").click()`)
		v.wait("the player", `document.querySelector("spool-player")?.media !== undefined`)
		sum["ms-console-frame"] += eval[float64](v.tab, firstFrame)
		v.tab.call("Network.clearBrowserCache", nil, nil)
		v.visit(last.WatchURL)
		v.wait("the player", `document.querySelector("spool-player")?.media !== undefined`)
		sum["ms-watch-frame"] += eval[float64](v.tab, firstFrame)
		report("watch", eval[looks](v.tab, `looks`))
	}
	for unit, all := range sum {
		b.ReportMetric(all/float64(b.N), unit)
	}
}

// downloaded is how many bytes of the console's own files came over the line so far.
func (v *visitor) downloaded() (bytes int) {
	v.t.Helper()
	ours := map[string]bool{}
	type received struct {
		RequestID string
		Response  struct{ URL string }
	}
	for _, r := range heard[received](v.tab, "Network.responseReceived") {
		u, err := url.Parse(r.Response.URL)
		if err != nil {
			v.t.Fatal(err)
		}
		ours[r.RequestID] = u.Path == "/" || strings.HasPrefix(u.Path, "/console/")
	}
	type finished struct {
		RequestID         string
		EncodedDataLength int
	}
	for _, f := range heard[finished](v.tab, "Network.loadingFinished") {
		if ours[f.RequestID] {
			bytes += f.EncodedDataLength
		}
	}
	return bytes
}
