package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spool-video/spool/client"
)

// chapteredClip makes a clip of six seconds with three chapters.
func chapteredClip(t testing.TB) string {
	t.Helper()
	text := ";FFMETADATA1\n"
	for i, title := range []string{"Opening", "<b>Middle</b> & more", "End"} {
		text += fmt.Sprintf("[CHAPTER]\nTIMEBASE=1/1000\nSTART=%d\nEND=%d\ntitle=%s\n", 2000*i, 2000*(i+1), title)
	}
	path := filepath.Join(t.TempDir(), "chapters.mp4")
	err := runFFmpeg("-f", "lavfi", "-i", "testsrc2=size=160x120:rate=10:duration=6", "-i", save(t, "chapters.txt", []byte(text)), "-map_metadata", "1",
		"-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// readChapters returns the chapters of a read as lines, and their URL.
func (s *server) readChapters(u upload) (lines, url string) {
	s.t.Helper()
	v := decode[client.Video](s.t, s.tryRead(u), http.StatusOK)
	for _, c := range v.Chapters {
		lines += fmt.Sprintf("%g-%g %s\n", c.StartSeconds, c.EndSeconds, c.Title)
	}
	return lines, v.ChaptersURL
}

// TestChapters goes from the chapters of a file to a viewer, and to others that a client sets.
func TestChapters(t *testing.T) {
	usuallyOneBackend(t, "the rows are tested on both databases")
	t.Parallel()
	s := shared(t)
	u := s.submit(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}}, chapteredClip(t)) // private
	w := s.waitReady(u)
	lines, url := s.readChapters(u)
	if want := "0-2 Opening\n2-4 <b>Middle</b> & more\n4-6 End\n"; lines != want {
		t.Errorf("the chapters of the file are\n%swant\n%s", lines, want)
	}
	if text := string(s.getReady(url).body); !strings.Contains(text, "\n00:00:02.000 --> 00:00:04.000\n&lt;b&gt;Middle&lt;/b&gt; &amp; more\n") {
		t.Errorf("as WebVTT they are\n%s", text)
	}
	if master := string(s.fetch(w.HLSURL)); !strings.Contains(master, `#EXT-X-SESSION-DATA:DATA-ID="com.apple.hls.chapters",URI="chapters.json"`) {
		t.Errorf("the playlist is\n%s", master)
	}
	var forApple []struct {
		Start  float64 `json:"start-time"`
		Titles []struct{ Title string }
	}
	if err := json.Unmarshal(s.fetch(beside(w.HLSURL, "chapters.json")), &forApple); err != nil || len(forApple) != 3 || forApple[2].Start != 4 || forApple[1].Titles[0].Title != "<b>Middle</b> & more" {
		t.Errorf("for Apple's players they are %+v, %v", forApple, err)
	}
	share, err := s.client().CreateShare(t.Context(), u.ID, client.NewShare{})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(s.fetch(found(t, s.get(share.URL).body, ` chapters="([^"]+)"`))); !strings.Contains(text, "Opening") {
		t.Errorf("on the page of a share the chapters are\n%s", text)
	}
	t.Run("in a browser", func(t *testing.T) { chaptersInBrowser(newVisitor(t, s), w.EmbedURL) })

	path := "/api/video/" + u.ID + "/chapters"
	s.call("PUT", path, "0:00 One\n0:06 Behind the end", header{"Content-Type", "text/plain"}).problem(t, http.StatusBadRequest, "invalid_chapters")
	if r := s.call("PUT", path, "(0:01) – One\n(0:05) – Two", header{"Content-Type", "text/plain"}); r.status != http.StatusOK {
		t.Fatalf("chapters are answered %d %s", r.status, r.body)
	}
	if lines, _ = s.readChapters(u); lines != "1-5 One\n5-6 Two\n" {
		t.Errorf("the new chapters are\n%s", lines)
	}
	etag := s.get(url).header.Get("ETag")
	if r := s.call("PUT", path, `{"chapters":[{"startSeconds":0.5,"title":"Only"}]}`); r.status != http.StatusOK {
		t.Fatalf("chapters are answered %d %s", r.status, r.body)
	}
	if r := s.get(url, header{"If-None-Match", etag}); r.status != http.StatusOK || !strings.Contains(string(r.body), "Only") {
		t.Errorf("after a change, their URL answers %d %s", r.status, r.body)
	}
	for _, status := range []int{http.StatusOK, http.StatusNotFound} {
		if r := s.call("DELETE", path, nil); r.status != status {
			t.Errorf("a deletion is answered %d %s, want %d", r.status, r.body, status)
		}
	}
	if lines, gone := s.readChapters(u); lines != "" || gone != "" {
		t.Errorf("after it there are %q at %q", lines, gone)
	}
	s.get(url).problem(t, http.StatusNotFound, "not_found")
}

// chaptersInBrowser looks at the marks, and goes through the chapters by keys and by the menu.
func chaptersInBrowser(v *visitor, address string) {
	findBrowser(v.t)
	v.visit(address)
	v.tab.emulate(1000, "light")
	v.wait("the marks", part("media-time-range")+`.shadowRoot.querySelectorAll("#segments-clipping rect").length === 3`)
	eval[any](v.tab, `document.querySelector("spool-player").dispatchEvent(new Event("pointerenter"))`) // it loads for somebody who is about to play
	v.wait("the player to load", inPlayer+".readyState >= 2")
	name := part(".chapter .name") + ".textContent"
	v.wait("the first chapter", name+` === "Opening"`)
	for _, step := range []struct {
		key  string
		want float64
	}{{"n", 2}, {"n", 4}, {"n", 4}, {"b", 2}, {"b", 0}, {"b", 0}, {"n", 2}} {
		v.press(step.key)
		v.wait("the key "+step.key, fmt.Sprintf(`Math.abs(%s.currentTime - %g) < 0.05 && !%s.seeking`, inPlayer, step.want, inPlayer))
	}
	v.wait("the second chapter", name+` === "<b>Middle</b> & more"`)
	eval[any](v.tab, part(".chapter")+".click()")
	v.wait("the menu", part("#chapters")+`.checkVisibility() && [...`+part("#chapters")+`.children].findIndex((i) => i.getAttribute("aria-checked") === "true") === 1`)
	v.wait("the focus on the chapter that is shown", part("#chapters")+`.children[1] === document.querySelector("spool-player").shadowRoot.activeElement`)
	v.wantAccessible("chapters", 1000)
	v.wantAccessible("chapters-phone", 390)
	v.press("ArrowDown")
	v.press("Enter")
	v.wait("the choice", inPlayer+`.currentTime === 4 && `+part("#chapters")+`.hidden`)
	v.wait("the last chapter", name+` === "End"`)
	v.tab.emulate(1000, "light")
	box := eval[struct{ X, Y, W float64 }](v.tab, `(({x, y, width, height}) => ({X: x, Y: y + height / 2, W: width}))(`+part("media-time-range")+`.getBoundingClientRect())`)
	v.tab.call("Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": box.X + box.W/2, "y": box.Y}, nil)
	v.wait("the title above the line", part("media-preview-chapter-display")+`.shadowRoot.textContent.includes("<b>Middle</b> & more")`)
	v.tab.shoot("chapters-preview")
	v.wantTidy()
}

// wantChapters adds a chapter where the player is, pastes others, and moves one on the time line.
func (c *console) wantChapters() {
	c.t.Helper()
	c.openRoom("Text")
	eval[any](c.tab, media+".pause(); "+media+".currentTime = 0")
	c.click("#add-chapter", "Add at the playhead")
	c.wait("the title to be asked for", `document.activeElement.closest(".chapters") !== null`)
	c.tab.call("Input.insertText", map[string]any{"text": hostileTitle}, nil)
	c.click("#save-chapters", "Save")
	c.wait("the chapter in the player", part(".chapter .name")+`.textContent === `+quote(hostileTitle))
	c.click("summary", "Paste as text")
	c.wait("the chapters as text", `document.querySelector("#chapter-text").value === `+quote("0:00 "+hostileTitle+"\n"))
	eval[any](c.tab, `document.querySelector("#chapter-text").value = "(0:00) – One\n(0:01) – Two"`)
	c.click("#use-chapter-text", "Use this text")
	c.wait("two chapters", `[...document.querySelectorAll(".chapters li .time")].map((i) => i.value).join() === "0:00,0:01"`)
	eval[any](c.tab, `document.querySelectorAll(".timeline .mark")[1].focus()`)
	for _, kind := range []string{"keyDown", "keyUp"} {
		c.tab.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": "ArrowRight", "modifiers": 8}, nil) // with Shift
	}
	c.wait("the chapter to begin a frame later", `document.querySelectorAll(".chapters .time")[1].value > "0:01" && `+media+`.currentTime > 1`)
	c.look("video-chapters")
	c.click("#save-chapters", "Save")
	c.wait("nothing to save", `!document.querySelector("#save-chapters").checkVisibility()`)
}
