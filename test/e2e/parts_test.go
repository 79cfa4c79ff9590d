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
