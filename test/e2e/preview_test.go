package e2e

import (
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// TestPreviews plays a part of a film, and tries to get at the rest.
func TestPreviews(t *testing.T) {
	t.Parallel()
	s := shared(t)
	film := clip(t, chunksClip) // 36 s, ten frames each
	private := s.submit(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, Thumbnails: []float64{0}}, film)
	open := s.publish(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true}, film)
	whole := s.waitReady(private)
	if r := s.putCaptions(private.ID, "en", "WEBVTT\n\n00:01.000 --> 00:02.000\nToo early\n\n00:08.500 --> 00:09.500\nHere\n"); r.status != http.StatusCreated {
		t.Fatalf("captions are answered %d %s", r.status, r.body)
	}
	r := s.call("GET", "/api/video/"+private.ID+"/private/3600?start=10&end=14.5", nil)
	preview := decode[watch](t, r, http.StatusOK)
	for _, url := range []string{preview.HLSURL, preview.DASHURL, open.HLSURL + "?start=10&end=14.5", open.DASHURL + "?start=10&end=14.5"} {
		if n := len(shown(t, url)); n != 80 { // of the segments from second 8 to 16
			t.Errorf("%s shows %d frames; want 80", url, n)
		}
	}
	t.Run("in a browser", func(t *testing.T) {
		got := openTab(t).watch(preview.HLSURL)
		if math.Abs(got.Time-8) > 0.3 || len(got.Errors) > 0 || strings.Join(got.Cues, "|") != "Here" {
			t.Errorf("hls.js plays %v s, shows %q in the first second, and has the errors %q; want 8 s and the text", got.Time, got.Cues, got.Errors)
		}
	})
	s.wantOnlyStreams(string(r.body), preview)
	s.wantOnlyThePart(preview.HLSURL)
	if n := len(shown(t, whole.HLSURL)); n != 360 {
		t.Errorf("the whole film shows %d frames; want 360", n)
	}
	for _, query := range []string{"start=x", "start=5&end=5", "start=5&end=4", "end=-1", "start=99", "start=", "end=0", "start=NaN", "start=1e309", "end=Inf", "start=0x1", "start=1&start=2"} {
		s.call("GET", fmt.Sprintf("/api/video/%s/private/3600?%s", private.ID, query), nil).problem(t, http.StatusBadRequest, "invalid_request")
	}
	for _, query := range []string{"start=5&end=5", "start=NaN", "end=-1", "end=1e309", "start=1&end=0"} {
		s.get(open.HLSURL+"?"+query).problem(t, http.StatusBadRequest, "invalid_request")
		s.get(open.DASHURL+"?"+query).problem(t, http.StatusBadRequest, "invalid_request")
	}
	s.get(open.HLSURL+"?start=99").problem(t, http.StatusNotFound, "not_found")
	out, _ := outcome(t, s.remote(t.TempDir(), "preview", private.ID, "--from=0:10", "--to=14.5"), 0)
	if url := regexp.MustCompile(`http\S+/master\.m3u8`).FindString(out); len(shown(t, url)) != 80 {
		t.Errorf("spool preview prints %s", out)
	}
}

// wantOnlyStreams wants all addresses in the answer of a preview but the streams to be refused.
func (s *server) wantOnlyStreams(answer string, w watch) {
	s.t.Helper()
	all := regexp.MustCompile(`https?://[^"\\]+`).FindAllString(answer, -1)
	for _, url := range all {
		if url == w.HLSURL || url == w.DASHURL {
			continue
		}
		if r := s.get(url); r.status != http.StatusForbidden || !strings.Contains(url, "/embed/") && !strings.Contains(string(r.body), `"preview_only"`) {
			s.t.Errorf("%s answers %d %.300s", url, r.status, r.body)
		}
	}
	if len(all) < 8 || !strings.Contains(answer, "/thumbnail") {
		s.t.Errorf("the answer has only the addresses %q", all)
	}
	for _, file := range []string{"144p.mp4", "144p-0.m4s", "144p-1.m4s", "144p-4.m4s", "144p-iframes-1.m4s", "audio-0.m4s", "audio-4.m4s", "chapters.json", "thumbnail?time=30"} {
		s.get(beside(w.HLSURL, file)).problem(s.t, http.StatusForbidden, "preview_only")
	}
}

// wantOnlyThePart tries to change the part in the address of a preview of the seconds 10 to 14.5.
func (s *server) wantOnlyThePart(master string) {
	s.t.Helper()
	bare, _, _ := strings.Cut(master, "~")
	_, rest, _ := strings.Cut(master[len(bare):], "/")
	for _, other := range []string{"", "~0-99000", "~10000-", "~", "~010000-14500", "~10000-14500~", "~x"} {
		for _, file := range []string{rest, strings.Replace(rest, "master.m3u8", "144p-0.m4s", 1)} {
			s.get(bare+other+"/"+file).problem(s.t, http.StatusForbidden, "url_invalid")
		}
	}
	segments := regexp.MustCompile(`(?m)^[^#\s]+$|URI="([^"]*m3u8)"`)
	lists := 0
	for _, m := range segments.FindAllStringSubmatch(string(s.fetch(master+"?start=0&end=36")), -1) {
		list := m[0]
		if m[1] != "" {
			list = m[1]
		}
		lists++
		text := string(s.fetch(beside(master, list+"?start=0&end=36")))
		if strings.Contains(text, "-0.m4s") || strings.Contains(text, "-4.m4s") || !strings.Contains(text, "#EXT-X-ENDLIST") {
			s.t.Errorf("the playlist %s of a preview is\n%s", list, text)
		}
		for _, m := range segments.FindAllStringSubmatch(text, -1) { // all that it names is there
			s.fetch(beside(master, m[0]))
		}
	}
	if lists != 5 { // picture, its single frames, sound, sound alone, text
		s.t.Errorf("the preview has %d playlists; want 5", lists)
	}
}
