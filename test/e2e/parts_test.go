package e2e

import (
	"math"
	"net/http"
	"strings"
	"testing"
)

// TestPartsOfUploads makes parts of films, and looks at everything that counts from their start.
func TestPartsOfUploads(t *testing.T) {
	t.Parallel()
	s := shared(t)
	film := captionedClip(t) // three seconds, ten frames each; a text from 0.5 to 2.5
	part := newVideo{Filename: "a.mkv", Resolutions: []string{"144p"}, IsPublic: true, Thumbnails: []float64{0}, Trim: &trim{1, 2.2}}
	u, whole := s.submit(part, film), part
	whole.Trim, whole.Thumbnails = nil, []float64{1}
	reference := s.submit(whole, film)
	late, gone := part, part
	late.Trim, gone.Trim = &trim{StartSeconds: 2.5, EndSeconds: 60}, &trim{StartSeconds: 3.5}
	beyond, nothing := s.submit(late, film), s.submit(gone, film)

	w := s.waitReady(u)
	if math.Abs(w.DurationSeconds-1.2) > 0.001 || len(w.Warnings) != 0 {
		t.Errorf("the part lasts %v s, with the warnings %v; want 1.2 and none", w.DurationSeconds, w.Warnings)
	}
	for _, url := range []string{w.Resolutions["144p"].VideoURL, w.HLSURL, w.DASHURL} {
		if n := len(shown(t, url)); n != 12 {
			t.Errorf("%s shows %d frames; want 12", url, n)
		}
	}
	all := s.captions(u)
	if len(all) != 1 {
		t.Fatalf("the part has the captions %v", all)
	}
	if text := string(s.getReady(all[0].URL).body); !strings.Contains(text, "00:00:00.000 --> 00:00:01.200") {
		t.Errorf("the captions of the part are %q", text)
	}
	other := s.waitReady(reference)
	picture := s.getReady(w.Resolutions["144p"].ThumbnailImageURLs[0]).body
	if string(picture) != string(s.getReady(other.Resolutions["144p"].ThumbnailImageURLs[0]).body) {
		t.Error("the first thumbnail of the part is not the picture that the film shows there")
	}
	s.call("POST", "/api/video/"+u.ID+"/resolutions", `{"resolution": "240p"}`)
	w = s.waitReady(u)
	if n := len(shown(t, w.Resolutions["240p"].VideoURL)); n != 12 {
		t.Errorf("a resolution that was added shows %d frames; want 12", n)
	}
	if w = s.waitReady(beyond); len(w.Warnings) != 1 || w.Warnings[0].Code != "beyond_end" || math.Abs(w.DurationSeconds-0.5) > 0.001 {
		t.Errorf("a part behind the end lasts %v s, with the warnings %v", w.DurationSeconds, w.Warnings)
	}
	if w = s.waitFinished(nothing); w.Failure == nil || w.Failure.Code != "nothing_left" {
		t.Errorf("a part without frames is %s, %v", w.Status, w.Failure)
	}
	part.Trim = &trim{StartSeconds: 2, EndSeconds: 2}
	s.call("POST", "/api/video", part).problem(t, http.StatusBadRequest, "invalid_request")

	out, _ := outcome(t, s.remote(films(t, "one.mp4"), "upload", "one.mp4", "--trim=0.1-0:00.4", "--resolutions=144p", "--wait", "--json"), 0)
	if !strings.Contains(out, `"durationSeconds":0.3`) {
		t.Errorf("spool upload --trim prints %s", out)
	}
}

// clipOf asks for a clip.
func (s *server) clipOf(id string, from, to float64) reply {
	s.t.Helper()
	return s.call("POST", "/api/video", map[string]any{
		"isPublic": true, "resolutions": []string{"144p"}, "clip": map[string]any{"videoId": id, "startSeconds": from, "endSeconds": to},
	})
}

// TestClips cuts clips out of a film and out of a part of it, and deletes the film.
func TestClips(t *testing.T) {
	t.Parallel()
	s := shared(t)
	u := s.submit(newVideo{Filename: "Film.mkv", Resolutions: []string{"144p"}, Trim: &trim{StartSeconds: 0.5}}, captionedClip(t))
	pending := s.create(newVideo{Filename: "b.mkv", Resolutions: []string{"144p"}})
	film := s.waitReady(u)

	s.clipOf(pending.ID, 0, 1).problem(t, http.StatusConflict, "not_clippable")
	s.clipOf("0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e", 0, 1).problem(t, http.StatusNotFound, "video_not_found")
	s.clipOf(u.ID, 1, 1).problem(t, http.StatusBadRequest, "invalid_request")
	s.clipOf(u.ID, 1, 9).problem(t, http.StatusBadRequest, "invalid_request")
	both := s.call("POST", "/api/video", map[string]any{"isPublic": true, "trim": map[string]any{}, "clip": map[string]any{"videoId": u.ID, "startSeconds": 0, "endSeconds": 1}, "sourceUrl": "https://a.example/b.mp4"})
	both.problem(t, http.StatusBadRequest, "invalid_request")

	r := s.clipOf(u.ID, 0.5, 1.7)
	clip := decode[upload](t, r, http.StatusCreated)
	if clip.UploadURL != "" || clip.Resolutions["144p"].Status != "processing" {
		t.Errorf("a clip is answered %s", r.body)
	}
	out, _ := outcome(t, s.remote(t.TempDir(), "clip", u.ID, "--from=0:00", "--to=1.5", "--title=First", "--resolutions=144p", "--public", "--json"), 0)
	s.deleteVideo(u.ID) // clips stay
	w := s.waitReady(clip)
	if n := len(shown(t, w.Resolutions["144p"].VideoURL)); n != 12 || math.Abs(w.DurationSeconds-1.2) > 0.001 {
		t.Errorf("the clip has %d frames in %v s; want 12 in 1.2", n, w.DurationSeconds)
	}
	all := s.captions(clip) // the text is from 0.5 to 2.5 of the file, and the clip from 1 to 2.2
	if len(all) != 1 || !strings.Contains(string(s.getReady(all[0].URL).body), "00:00:00.000 --> 00:00:01.200") {
		t.Errorf("the captions of the clip are %v", all)
	}
	made := jsonLines(t, out)
	for id := range made {
		first := s.waitReady(upload{ID: id, IsPublic: true})
		if n := len(shown(t, first.Resolutions["144p"].VideoURL)); n != 15 || !strings.Contains(out, `"title":"First"`) {
			t.Errorf("spool clip makes a clip of %d frames and prints %s; want 15", n, out)
		}
	}
	if len(made) != 1 {
		t.Errorf("spool clip prints %s", out)
	}
	s.get(film.Resolutions["144p"].VideoURL).problem(t, http.StatusNotFound, "not_found")
}

// TestClipsWithoutTheSource cuts a clip out of a film whose uploaded file was not kept.
func TestClipsWithoutTheSource(t *testing.T) {
	t.Parallel()
	s := start(t, withEnv("SPOOL_KEEP_SOURCE", "false"))
	w := s.publish(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}}, clip(t, smallClip))
	s.waitIdle()
	if r := s.call("POST", "/api/video/"+w.ID+"/resolutions", `{"resolution": "240p"}`); r.status != http.StatusConflict {
		t.Fatalf("the source is still there: %d %s", r.status, r.body)
	}
	made := s.waitReady(decode[upload](t, s.clipOf(w.ID, 0.2, 0.8), http.StatusCreated))
	if n := len(shown(t, made.Resolutions["144p"].VideoURL)); n != 6 {
		t.Errorf("the clip has %d frames; want 6", n)
	}
}

// wantClip chooses a part on the time line, and makes a clip of it.
func (c *console) wantClip(length string) {
	c.t.Helper()
	c.openRoom("Overview")
	to := `document.querySelector("#clip-to")`
	c.wait("all of the video to be chosen", to+`.checkVisibility() && `+to+`.value === `+quote(length))
	eval[any](c.tab, media+`.pause(); document.querySelector("[aria-labelledby=clip-heading] .point.to").focus()`)
	for _, kind := range []string{"keyDown", "keyUp"} {
		c.tab.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": "ArrowLeft"}, nil)
	}
	c.wait("the clip to end a second earlier", to+`.value === "0:01" && Math.abs(`+media+`.currentTime - 1) < 0.05`)
	eval[any](c.tab, media+`.currentTime = 0.5`)
	c.click("#clip-from-here", "Here")
	c.wait("the clip to begin there", `document.querySelector("#clip-from").value.startsWith("0:00.5")`)
	c.look("video-clip")
	c.click("#make-clip", "Make the clip")
	c.waitText("[aria-labelledby=clip-heading] a", "open it")
	videos := decode[struct{ Videos []upload }](c.t, c.call("GET", "/api/video", nil), http.StatusOK).Videos
	if clip := c.waitReady(videos[0]); math.Abs(clip.DurationSeconds-0.5) > 0.11 {
		c.t.Errorf("the clip lasts %v s; want 0.5", clip.DurationSeconds)
	}
	c.deleteVideo(videos[0].ID)
}
