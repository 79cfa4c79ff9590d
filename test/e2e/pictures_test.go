package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/jpeg"
	"maps"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spool-video/spool/test/need"
)

var cueShape = regexp.MustCompile(`(\d\d:\d\d:\d\d\.\d{3}) --> (\d\d:\d\d:\d\d\.\d{3})\n(storyboard-\d+\.jpg)#xywh=(\d+),(\d+),(\d+),(\d+)\n`)

// TestPicturesOfAVideo looks at the storyboard and the preview of a public and a private video. The
// sprites are found relative to the storyboard, with its signature.
func TestPicturesOfAVideo(t *testing.T) {
	usuallyOneBackend(t, "they are published like thumbnails")
	t.Parallel()
	s := start(t, pictured())
	for source, public := range map[string]bool{softClip: true, tinyClip: false} {
		ask := newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: public, Thumbnails: []float64{0}}
		u := s.create(ask)
		early := s.read(u)
		s.get(early.StoryboardURL).problem(t, http.StatusNotFound, "not_ready")
		s.get(early.PreviewURL).problem(t, http.StatusNotFound, "not_ready")
		s.put(u, clip(t, source))
		s.complete(u.ID)
		w := s.waitReady(u)
		if r := s.send("GET", w.PosterURL, nil, header{"Accept", "image/jpeg"}); r.status != http.StatusOK || r.header.Get("Content-Type") != "image/jpeg" {
			t.Errorf("the poster of a video that is just ready answers %d %v", r.status, r.header)
		}
		checkStoryboard(t, s, w)
		checkFormats(t, s, w.PosterURL, source == softClip)
		checkFormats(t, s, w.Resolutions["144p"].ThumbnailImageURLs[0], false)
		preview := s.getReady(w.PreviewURL)
		if preview.status != http.StatusOK || preview.header.Get("Content-Type") != "image/webp" || len(preview.body) > 1_000_000 ||
			!bytes.HasPrefix(preview.body, []byte("RIFF")) || bytes.Count(preview.body, []byte("ANMF")) < 5 {
			t.Errorf("the preview answers %d with %d bytes of %s, %d frames", preview.status, len(preview.body), preview.header.Get("Content-Type"), bytes.Count(preview.body, []byte("ANMF")))
		}
		if !public {
			checkSpritesAreSigned(t, s, w)
		}
		s.wantTidy(u)
		s.deleteVideo(u.ID)
		if r := s.get(w.PreviewURL); r.status != http.StatusNotFound {
			t.Errorf("the preview of a deleted video answers %d", r.status)
		}
		s.wantTidy()
	}
}

// checkStoryboard follows the cues of a storyboard to their pictures.
func checkStoryboard(t testing.TB, s *server, w watch) {
	t.Helper()
	r := s.getReady(w.StoryboardURL)
	if r.status != http.StatusOK || r.header.Get("Content-Type") != "text/vtt; charset=utf-8" || !strings.HasPrefix(string(r.body), "WEBVTT\n\n") || r.header.Get("X-Request-Id") == "" {
		t.Fatalf("the storyboard answers %d as %v: %s", r.status, r.header, r.body)
	}
	cues := cueShape.FindAllStringSubmatch(string(r.body), -1)
	last := "00:00:00.000"
	for _, c := range cues {
		if c[1] != last || c[2] <= c[1] {
			t.Errorf("a cue lasts from %s to %s, and the one before ends at %s", c[1], c[2], last)
		}
		last = c[2]
		sprite := s.get(w.StoryboardURL[:strings.LastIndexByte(w.StoryboardURL, '/')+1] + c[3])
		size, err := jpeg.DecodeConfig(bytes.NewReader(sprite.body))
		var place [4]int
		for i := range place {
			place[i], _ = strconv.Atoi(c[4+i])
		}
		if err != nil || sprite.status != http.StatusOK || place[2] != 160 || place[0]+place[2] > size.Width || place[1]+place[3] > size.Height {
			t.Errorf("%s answers %d, %v with %d × %d pixels; want %v in it", c[3], sprite.status, err, size.Width, size.Height, place)
		}
	}
	if want := fmt.Sprintf("00:00:%06.3f", w.DurationSeconds); len(cues) == 0 || last != want {
		t.Errorf("the storyboard has %d cues and ends at %s, want %s:\n%s", len(cues), last, want, r.body)
	}
}

// checkSpritesAreSigned wants the signature of a storyboard to open its sprites and nothing else.
func checkSpritesAreSigned(t testing.TB, s *server, w watch) {
	t.Helper()
	signed := takeApart(t, w.StoryboardURL)
	for _, file := range []string{"144p.mp4", "poster.jpg", "preview.webp", "master.m3u8"} {
		other := signed
		other.file = file
		s.get(other.String()).problem(t, http.StatusForbidden, "url_invalid")
	}
	sprite := takeApart(t, w.PreviewURL)
	sprite.file = "storyboard-0.jpg"
	s.get(sprite.String()).problem(t, http.StatusForbidden, "url_invalid")
}

// TestPicturesThatFailDoNotCostTheVideo has an ffmpeg that cannot make the preview: the storyboard is
// there, and the preview is said to be absent.
func TestPicturesThatFailDoNotCostTheVideo(t *testing.T) {
	oneBackend(t, "the same rules give up there")
	t.Parallel()
	g := newGate(t, picturesRun, exitOne)
	s := start(t, g.tools(), pictured())
	u := s.submit(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true}, clip(t, miniClip))
	checkStoryboard(t, s, s.waitReady(u))
	s.waitIdle()
	w := s.read(u)
	if w.Status != "ready" || w.StoryboardURL == "" || w.PreviewURL != "" {
		t.Errorf("the video is %s with the preview %q and the storyboard %q", w.Status, w.PreviewURL, w.StoryboardURL)
	}
}

// checkFormats asks for a poster or a thumbnail as browsers and as other clients do. The address is the same.
// Thumbnails are never AVIF, and whether a poster is, which depends on the picture, is told by avif only where
// it is certain: what is not in focus is half as large as WebP.
func checkFormats(t testing.TB, s *server, address string, avif bool) {
	t.Helper()
	begins := map[string]string{"image/jpeg": "\xff\xd8", "image/webp": "RIFF", "image/avif": "\x00\x00\x00"}
	tags, last := map[string]string{}, math.MaxInt // by format
	for _, tt := range []struct {
		accept string
		want   []string
	}{
		{"*/*", []string{"image/jpeg"}},
		{"image/webp,*/*", []string{"image/webp"}},
		{"image/avif,image/webp,image/*,*/*;q=0.8", []string{"image/webp", "image/avif"}},
	} {
		r := s.send("GET", address, nil, header{"Accept", tt.accept})
		kind, tag := r.header.Get("Content-Type"), r.header.Get("ETag")
		if r.status != http.StatusOK || !slices.Contains(tt.want, kind) || !bytes.HasPrefix(r.body, []byte(begins[kind])) {
			t.Errorf("for %q, %s answers %d %v", tt.accept, address, r.status, r.header)
		}
		// What a bucket answers is at an address of its own; the redirect to it is what differs.
		if ours := s.hop(address, header{"Accept", tt.accept}); ours.header.Get("Vary") != "Accept" {
			t.Errorf("for %q, %s does not vary by Accept: %d %v", tt.accept, address, ours.status, ours.header)
		}
		if len(r.body) > last {
			t.Errorf("for %q, %s has %d bytes; a client that takes less gets %d", tt.accept, address, len(r.body), last)
		}
		tags[kind], last = tag, len(r.body)
		if r := s.send("GET", address, nil, header{"Accept", tt.accept}, header{"If-None-Match", tag}); r.status != http.StatusNotModified {
			t.Errorf("for %q, the picture that the client has answers %d", tt.accept, r.status)
		}
	}
	if _, is := tags["image/avif"]; avif && !is {
		t.Errorf("%s is no AVIF for a browser that takes it: %v", address, tags)
	}
	if different := slices.Compact(slices.Sorted(maps.Values(tags))); len(different) != len(tags) {
		t.Errorf("the formats have the ETags %v", tags)
	}
}

// TestAUselessResolutionIsToldInTheReport uploads a blurred film: 720p shows no more than 360p does.
func TestAUselessResolutionIsToldInTheReport(t *testing.T) {
	oneBackend(t, "the storage tests cover the column")
	need.TimeFor(t, "TestASizeThatShowsNothingMore of package encode measures one")
	t.Parallel()
	s := start(t, withEnv("SPOOL_MEASURE_QUALITY", ""))
	u := s.submit(newVideo{Filename: "a.mp4", Resolutions: []string{"720p", "360p"}}, clip(t, blurClip))
	s.waitReady(u)
	s.waitIdle()
	r := s.call("GET", "/api/video/"+u.ID+"/report", nil)
	var report struct {
		Outputs map[string]struct {
			SSIM         float64 `json:"ssim"`
			NoBetterThan string  `json:"noBetterThan"`
		} `json:"outputs"`
	}
	if err := json.Unmarshal(r.body, &report); err != nil {
		t.Fatal(err)
	}
	if o := report.Outputs; o["720p"].SSIM == 0 || o["720p"].NoBetterThan != "360p" || o["360p"].NoBetterThan != "" {
		t.Errorf("the outputs are %+v; want 720p no better than 360p", o)
	}
	if !strings.Contains(string(r.body), "720p was made, but shows no more than 360p does.") {
		t.Errorf("no decision says so: %s", r.body)
	}
}
