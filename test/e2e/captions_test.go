package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/test/footage"
)

// caption is an entry of captions in a read.
type caption struct {
	Language string `json:"language"`
	Label    string `json:"label"`
	Kind     string `json:"kind"`
	Source   string `json:"source"`
	URL      string `json:"url"`
}

// captionedClip makes a clip of three seconds with a text track in German.
func captionedClip(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	text, path := filepath.Join(dir, "text.srt"), filepath.Join(dir, "captioned.mkv")
	if err := os.WriteFile(text, []byte("1\n00:00:00,500 --> 00:00:02,500\n<i>Guten Tag</i>\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := runFFmpeg("-f", "lavfi", "-i", "testsrc2=size=160x120:rate=10:duration=3", "-i", text,
		"-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-c:s", "subrip", "-metadata:s:s:0", "language=ger", path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (s *server) putCaptions(id, language, text string) reply {
	s.t.Helper()
	return s.call("PUT", "/api/video/"+id+"/captions/"+language, text, header{"Content-Type", "text/vtt"})
}

// captions returns those that a read lists.
func (s *server) captions(u upload) []caption {
	s.t.Helper()
	return decode[struct {
		Captions []caption `json:"captions"`
	}](s.t, s.tryRead(u), http.StatusOK).Captions
}

// TestCaptions goes from a text and a track of the file to what a viewer sees.
func TestCaptions(t *testing.T) {
	usuallyOneBackend(t, "captions are published as all other files are")
	t.Parallel()
	s := shared(t)
	u := s.create(newVideo{Filename: "a.mkv", Resolutions: []string{"144p"}}) // private
	const english = "WEBVTT\n\n00:00.200 --> 00:02.800\nHello <b>you</b>\n"
	mine := decode[caption](t, s.putCaptions(u.ID, "eng", english), http.StatusCreated)
	if mine.Language != "en" || mine.Label != "English" || mine.Kind != "subtitles" || mine.Source != "uploaded" {
		t.Errorf("the captions are %+v", mine)
	}
	refusal := s.putCaptions(u.ID, "fr", "WEBVTT\n\n00:02.000 --> 00:01.000\nx").problem(t, http.StatusBadRequest, "invalid_captions")
	if !strings.HasPrefix(refusal.Detail, "Line 3: ") {
		t.Errorf("the refusal says %q", refusal.Detail)
	}
	s.put(u, captionedClip(t))
	s.complete(u.ID)
	w := s.waitReady(u)
	all := s.captions(u)
	if len(all) != 2 || all[0].Language != "en" || all[1].Language != "de" || all[1].Source != "embedded" || all[1].Label != "Deutsch" {
		t.Fatalf("the captions are %+v", all)
	}
	for i, want := range []string{"Hello <b>you</b>", "<i>Guten Tag</i>"} {
		if text := string(s.getReady(all[i].URL).body); !strings.HasPrefix(text, "WEBVTT\n") || !strings.Contains(text, want) {
			t.Errorf("the captions are %q, want %q", text, want)
		}
	}
	checkTextStream(t, s, w)
	t.Run("in a browser", func(t *testing.T) { readInBrowser(t, w) })

	changed := decode[caption](t, s.putCaptions(u.ID, "en", strings.ReplaceAll(english, "Hello", "Good day")), http.StatusOK)
	if changed.URL == all[0].URL || !strings.Contains(string(s.getReady(changed.URL).body), "Good day") {
		t.Errorf("other captions are at %s, the first were at %s", changed.URL, all[0].URL)
	}
	s.get(all[0].URL).problem(t, http.StatusNotFound, "not_found")
	for _, status := range []int{http.StatusOK, http.StatusNotFound} {
		if r := s.call("DELETE", "/api/video/"+u.ID+"/captions/en", nil); r.status != status {
			t.Errorf("a deletion is answered %d %s, want %d", r.status, r.body, status)
		}
	}
	s.get(changed.URL).problem(t, http.StatusNotFound, "not_found")
	s.deleteVideo(u.ID)
	s.get(all[1].URL).problem(t, http.StatusNotFound, "not_found")
	s.putCaptions(u.ID, "en", english).problem(t, http.StatusNotFound, "video_not_found")
}

// checkTextStream finds the texts in both kinds of stream.
func checkTextStream(t *testing.T, s *server, w watch) {
	t.Helper()
	master := string(s.fetch(w.HLSURL))
	for _, want := range []string{`TYPE=SUBTITLES,GROUP-ID="captions",NAME="English",LANGUAGE="en"`, `NAME="Deutsch",LANGUAGE="de"`, `,SUBTITLES="captions"`} {
		if !strings.Contains(master, want) {
			t.Errorf("the playlist lacks %s:\n%s", want, master)
		}
	}
	for _, url := range []string{w.HLSURL, w.DASHURL} {
		if n := len(shown(t, url)); n != 30 {
			t.Errorf("ffmpeg reads %d frames of %s", n, url)
		}
	}
	manifest := string(s.fetch(w.DASHURL))
	i := strings.Index(manifest, "<BaseURL>captions-en-")
	if i < 0 {
		t.Fatalf("the manifest has no text:\n%s", manifest)
	}
	file, _, _ := strings.Cut(manifest[i+len("<BaseURL>"):], "<")
	if text := string(s.fetch(beside(w.DASHURL, file))); !strings.Contains(text, "Hello") {
		t.Errorf("the text of the manifest is %q", text)
	}
}

// readInBrowser wants hls.js to show what is said.
func readInBrowser(t *testing.T, w watch) {
	findBrowser(t)
	got := openTab(t).watch(w.HLSURL)
	if len(got.Errors) > 0 || !slices.Equal(got.Subtitles, []string{"en English", "de Deutsch"}) || !slices.Equal(got.Cues, []string{"Hello <b>you</b>"}) {
		t.Errorf("hls.js shows %q of %q, with the errors %q", got.Cues, got.Subtitles, got.Errors)
	}
	if !slices.Equal(got.Targets, []int{6}) {
		t.Errorf("the target durations are %v", got.Targets)
	}
}

// TestCaptionsOfRealRecordings wants the text tracks of a film, and the closed captions of a
// broadcast, which are not left in its frames.
func TestCaptionsOfRealRecordings(t *testing.T) {
	t.Parallel()
	oneBackend(t, "what ffmpeg reads does not depend on it")
	for file, want := range map[string]caption{
		"multi_av_subs_nasa.mp4": {Language: "en", Label: "English", Kind: "subtitles", Source: "embedded"},
		"mpeg2_tff_captions.ts":  {Language: "und", Label: "Closed captions", Kind: "captions", Source: "embedded"},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			path := footage.Path(t, "variety", file)
			s := shared(t)
			u := s.submit(newVideo{Filename: file, Resolutions: []string{"144p"}, IsPublic: true}, path)
			w := s.waitReady(u)
			all := s.captions(u)
			if len(all) != 1 {
				t.Fatalf("the captions are %+v", all)
			}
			text := string(s.getReady(all[0].URL).body)
			if all[0].URL = ""; all[0] != want || strings.Count(text, "-->") < 2 || strings.Contains(text, `\h`) {
				t.Errorf("the captions are %+v, want %+v:\n%s", all[0], want, text)
			}
			out, err := output("ffprobe", "-v", "error", "-show_entries", "frame_side_data=side_data_type", "-of", "csv=p=0", "-select_streams", "v", w.Resolutions["144p"].VideoURL)
			if err != nil || strings.Contains(out, "Closed Captions") {
				t.Errorf("the frames carry %s, %v", out, err)
			}
		})
	}
}
