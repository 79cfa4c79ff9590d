package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/client"
)

// said returns the videos in which words are said, with where.
func (s *server) said(words string, filters ...string) []client.Video {
	s.t.Helper()
	path := "/api/video?said=" + url.QueryEscape(words)
	for _, f := range filters {
		path += "&" + f
	}
	return decode[struct{ Videos []client.Video }](s.t, s.call("GET", path, nil), http.StatusOK).Videos
}

// TestSearchInWhatIsSaid goes from a track of a file and an upload to what a search finds, and to a viewer who reads along.
func TestSearchInWhatIsSaid(t *testing.T) {
	t.Parallel()
	s := shared(t)
	u := s.submit(newVideo{Filename: "a.mkv", Resolutions: []string{"144p"}, IsPublic: true}, captionedClip(t)) // with "Guten Tag"
	w := s.waitReady(u)
	other := s.create(newVideo{Filename: "b.mp4", Resolutions: []string{"144p"}})
	decode[caption](t, s.putCaptions(u.ID, "en", "WEBVTT\n\n00:00.200 --> 00:01.000\nXylophone Café\n\n00:01.000 --> 00:01.800\n<i>and</i> zither &amp; harp\n\n00:01.800 --> 00:02.800\nnothing\n"), http.StatusCreated)
	decode[caption](t, s.putCaptions(other.ID, "en", "WEBVTT\n\n00:01.000 --> 00:02.000\nonly a zither\n"), http.StatusCreated)

	found := s.said("CAFE harp")
	if len(found) != 1 || found[0].ID != u.ID || !slices.Equal(found[0].Matches, []client.Match{{Language: "en", Start: 0.2, End: 1.8, Text: "Xylophone Café and zither & harp"}}) {
		t.Errorf("found are %+v", found)
	}
	if found := s.said("zither"); len(found) != 2 || found[0].ID != other.ID || found[1].ID != u.ID {
		t.Errorf("of two videos, found are %+v", found)
	}
	if found := s.said("zither", "status=ready"); len(found) != 1 || found[0].ID != u.ID {
		t.Errorf("of the ready ones, found are %+v", found)
	}
	if found := s.said("guten tag"); !slices.ContainsFunc(found, func(v client.Video) bool { return v.ID == u.ID && v.Matches[0].Language == "de" }) {
		t.Errorf("in the track of the file, found are %+v", found)
	}
	s.call("GET", "/api/video?said=%3F&sort=title", nil).problem(t, http.StatusBadRequest, "invalid_request")
	if !onFleet() { // the bucket of the tests has no CORS rule for pages, which docs/storage.md asks for
		t.Run("in a browser", func(t *testing.T) { transcriptInBrowser(newVisitor(t, s), w.WatchURL) })
	}

	s.call("DELETE", "/api/video/"+u.ID+"/captions/en", nil)
	if found := s.said("zither"); len(found) != 1 || found[0].ID != other.ID {
		t.Errorf("after a deletion, found are %+v", found)
	}
}

// inTranscript is an element of the transcript.
func inTranscript(selector string) string {
	return fmt.Sprintf(`document.querySelector("spool-transcript").shadowRoot.querySelector(%q)`, selector)
}

func transcriptInBrowser(v *visitor, address string) {
	findBrowser(v.t)
	v.visit(address)
	v.tab.emulate(1280, "light")
	v.wait("the transcript", inTranscript(".toggle")+"?.checkVisibility()")
	eval[any](v.tab, inTranscript(".toggle")+".click()")
	choose := func(language string) {
		v.t.Helper()
		eval[any](v.tab, fmt.Sprintf(`(() => { const s = %s; s.value = %q; s.dispatchEvent(new Event("change")); })()`, inTranscript("select"), language))
	}
	choose("en")
	v.wait("its lines", inTranscript("ol")+`.textContent.includes("and zither & harp")`)
	eval[any](v.tab, inTranscript("li:nth-child(2) button")+".click()")
	v.wait("the jump", inPlayer+".currentTime >= 1")
	eval[any](v.tab, inPlayer+".pause(); "+inPlayer+".currentTime = 1.2")
	v.wait("the line that is said", inTranscript("[aria-current]")+`?.textContent.includes("zither")`)
	v.press("ArrowDown")
	v.wait("the next line to have the focus", `document.querySelector("spool-transcript").shadowRoot.activeElement === `+inTranscript("li:nth-child(3) button"))
	eval[any](v.tab, inTranscript("li:nth-child(3) button")+".click()") // what Enter does
	v.wait("a jump to that", inPlayer+".currentTime >= 1.8")
	eval[any](v.tab, inPlayer+".pause()")
	eval[any](v.tab, fmt.Sprintf(`(() => { const i = %s; i.focus(); i.value = "cafe"; i.dispatchEvent(new Event("input")); })()`, inTranscript("input")))
	v.wait("what is found", inTranscript(".count")+`.textContent === "1 found"`)
	v.press("Enter")
	v.wait("the place that was found", inPlayer+".currentTime < 1.1")
	choose("de")
	v.wait("the other language", inTranscript("ol")+`.textContent.includes("Guten Tag")`)
	for _, width := range []int{1280, 390} {
		v.wantAccessible(strings.ReplaceAll(fmt.Sprint("transcript ", width), " ", "-"), width)
	}
	v.wantTidy()
}
