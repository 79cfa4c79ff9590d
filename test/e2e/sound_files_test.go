package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// A file with sound and no picture becomes a video on wish, in all codecs, and clips of it, too. Without the wish it fails
// as before.
func TestSoundFiles(t *testing.T) {
	t.Parallel()
	s := shared(t)
	song := newVideo{Filename: "song.mp3", Resolutions: []string{"720p", "144p"}, IsPublic: true, Thumbnails: []float64{1, 99}}
	refused := s.create(song)
	s.put(refused, clip(t, songClip))
	s.tryComplete(refused.ID).problem(t, http.StatusUnprocessableEntity, "not_a_video")

	song.AcceptAudio, song.Codecs = true, []string{"av1"}
	u := s.create(song)
	if u.ContentType != "audio/mpeg" {
		t.Errorf("the upload is to be sent as %s", u.ContentType)
	}
	s.put(u, clip(t, songClip))
	s.complete(u.ID)
	w := s.waitReady(u)
	large := w.Resolutions["720p"]
	if large.Width != 300 || large.Height != 240 || !near(w.DurationSeconds, 20, 0.05) || len(large.ThumbnailImageURLs) != 2 {
		t.Errorf("the video is %+v of %f s; want the cover of 300 × 240 for 20 s", large, w.DurationSeconds)
	}
	for _, url := range append(large.ThumbnailImageURLs, w.PosterURL) {
		if picture := s.get(url).body; !strings.HasPrefix(string(picture), "\xff\xd8") {
			t.Errorf("%s is no JPEG", url)
		}
	}
	if made := s.look(large.VideoURL); made.frames < 100 || made.frames > 101 || len(made.audio) == 0 {
		t.Errorf("the file has %d frames and sound %v; want 5 frames a second", made.frames, made.audio)
	}
	master := string(s.fetch(w.HLSURL))
	if !strings.Contains(master, "CODECS=\"mp4a.40.2\"") {
		t.Errorf("the playlist does not list the sound alone:\n%s", master)
	}
	s.until("AV1 is there", readyTimeout, func() bool {
		all := s.read(u).Resolutions["720p"].Variants
		return len(all) == 2 && all[1].Status != "processing"
	})
	if v := s.read(u).Resolutions["720p"].Variants[1]; v.Status == "fail" && (v.Failure == nil || v.Failure.Code != "not_smaller") {
		t.Errorf("AV1 is %+v", v)
	}
	part := decode[upload](t, s.clipOf(u.ID, 4.5, 7), http.StatusCreated)
	c := s.waitReady(part)
	if r := c.Resolutions["144p"]; r.Height != 144 || !near(c.DurationSeconds, 2.5, 0.03) {
		t.Errorf("the clip is %+v of %f s", r, c.DurationSeconds)
	}
	t.Run("browser", func(t *testing.T) {
		findBrowser(t)
		b := openTab(t)
		if got := b.watch(c.HLSURL); len(got.Errors) > 0 || !near(got.Time, 2.5, 0.15) {
			t.Errorf("hls.js played until %f s, with the errors %q", got.Time, got.Errors)
		}
	})
}

// A resolution that is added later is made of the same picture.
func TestAResolutionOfASoundFileLater(t *testing.T) {
	usuallyOneBackend(t, "TestSoundFiles looks at the back ends")
	t.Parallel()
	s := shared(t)
	u := s.submit(newVideo{Filename: "song.mp3", Resolutions: []string{"144p"}, IsPublic: true, AcceptAudio: true}, clip(t, songClip))
	s.waitReady(u)
	decode[watch](t, s.call("POST", "/api/video/"+u.ID+"/resolutions", addition{"240p"}), http.StatusCreated)
	w := s.waitReady(u)
	if r := w.Resolutions["240p"]; r.Status != "ready" || r.Width != 300 || r.Height != 240 {
		t.Errorf("the later resolution is %+v", r)
	}
}
