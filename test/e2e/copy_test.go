package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A file that plays everywhere as it is is copied at its own size. Players change between it and what is encoded.
func TestCopiedSource(t *testing.T) {
	t.Parallel()
	s := shared(t)
	w := s.publish(newVideo{Filename: "good.mp4", Resolutions: []string{"240p", "144p"}, IsPublic: true, CopySource: "auto"}, clip(t, goodClip))
	if own, small := w.Resolutions["240p"].Method, w.Resolutions["144p"].Method; own != "copied" || small != "encoded" {
		t.Fatalf("240p was %s, 144p was %s", own, small)
	}
	if r := s.report(w.ID); r.Copy == nil || !r.Copy.Copied || len(r.Copy.Reasons) > 0 {
		t.Errorf("the report says %+v", r.Copy)
	}
	frames := func(file string) string {
		text, err := output("ffmpeg", "-v", "error", "-xerror", "-i", file, "-map", "0:v", "-f", "framemd5", "-")
		if err != nil {
			t.Fatal(err)
		}
		return text[strings.Index(text, "0,"):]
	}
	made := s.download(w.Resolutions["240p"].VideoURL)
	if frames(made) != frames(clip(t, goodClip)) {
		t.Error("the copy shows other frames than the file, or at other times")
	}
	own, small := s.look(w.Resolutions["240p"].VideoURL), s.look(w.Resolutions["144p"].VideoURL)
	if own.frames != 650 || small.frames != 650 || !slices.Equal(own.audio, small.audio) {
		t.Errorf("%d frames were copied and %d encoded; want 650, with the same audio", own.frames, small.frames)
	}
	lists := map[string]string{}
	for _, name := range []string{"240p", "144p"} {
		text := string(s.fetch(strings.TrimSuffix(w.HLSURL, "master.m3u8") + name + ".m3u8"))
		lists[name] = strings.ReplaceAll(text, name, "")
	}
	if lists["240p"] != lists["144p"] || !strings.Contains(lists["240p"], "TARGETDURATION:10\n") {
		t.Errorf("the playlists are\n%s\n%s", lists["240p"], lists["144p"])
	}
	t.Run("browser", func(t *testing.T) {
		oneBackend(t, "the same files come from a bucket")
		findBrowser(t)
		got := openTab(t).watch(w.HLSURL)
		if len(got.Errors) > 0 || !near(got.Time, 26, 0.1) || got.Frames < 600 || !slices.Equal(got.Targets, []int{10}) {
			t.Errorf("hls.js played %+v", got)
		}
	})
}

// What does not decode cleanly is encoded, although it looked well when it was inspected. Its other sizes stay.
func TestDamagedSourceIsNotCopied(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(clip(t, goodClip))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3000 {
		text[len(text)/2+i] = byte(i * 7919 >> 3)
	}
	damaged := filepath.Join(t.TempDir(), "damaged.mp4")
	if err := os.WriteFile(damaged, text, 0o600); err != nil {
		t.Fatal(err)
	}
	s := shared(t)
	for _, names := range [][]string{{"240p", "144p"}, {"240p"}} {
		w := s.publish(newVideo{Filename: "damaged.mp4", Resolutions: names, IsPublic: true, CopySource: "auto"}, damaged)
		for name, r := range w.Resolutions {
			if r.Method != "encoded" {
				t.Errorf("%s was %s", name, r.Method)
			}
			if err := runFFmpeg("-xerror", "-i", s.download(r.VideoURL), "-f", "null", "-"); err != nil {
				t.Errorf("%s does not decode cleanly: %v", name, err)
			}
		}
		if r := s.report(w.ID); r.Copy == nil || r.Copy.Copied || !slices.Equal(r.Copy.Reasons, []string{"damaged"}) {
			t.Errorf("the report says %+v", r.Copy)
		}
	}
}

func TestCopiesThatAreNotMade(t *testing.T) {
	oneBackend(t, "TestCopiedSource looks at the back ends")
	t.Parallel()
	s := shared(t)
	w := s.publish(newVideo{Filename: "a.mp4", Resolutions: []string{"240p"}, CopySource: "never"}, clip(t, goodClip))
	if r := s.report(w.ID); r.Copy != nil || w.Resolutions["240p"].Method != "encoded" {
		t.Errorf("with never, it was %s, and the report says %+v", w.Resolutions["240p"].Method, r.Copy)
	}
	w = s.publish(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, CopySource: "auto"}, clip(t, goodClip))
	if r := s.report(w.ID); r.Copy == nil || r.Copy.Copied || len(r.Copy.Reasons) > 0 {
		t.Errorf("without its own size, the report says %+v", r.Copy)
	}
}
