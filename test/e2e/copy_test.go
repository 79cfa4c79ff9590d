package e2e

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/service/failpoint"
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
	u := upload{ID: w.ID, IsPublic: true}
	dub := s.waitTrack(u, s.addTrack(u, "fr").ID)
	decode[audioTrack](t, s.call("PATCH", "/api/video/"+u.ID+"/audio/"+dub.ID, map[string]any{"default": true}), http.StatusOK)
	s.until("the copy to hold the new default", readyTimeout, func() bool { return pitchOf(t, s.getReady(w.Resolutions["240p"].VideoURL).body) == 1760 })
	if again := s.read(u).Resolutions["240p"]; again.Method != "copied" || frames(s.download(again.VideoURL)) != frames(made) {
		t.Errorf("with another sound track, it is %s, or shows other frames", again.Method)
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

// damagedClip is goodClip with damage in its middle.
func damagedClip(t testing.TB) string {
	t.Helper()
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
	return damaged
}

// What does not decode cleanly is encoded, although it looked well when it was inspected. Its other sizes stay.
func TestDamagedSourceIsNotCopied(t *testing.T) {
	t.Parallel()
	damaged := damagedClip(t)
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
	mark := decode[struct{ ID string }](t, s.call("POST", "/api/watermark", logo, header{"Content-Type", "image/png"}), http.StatusCreated)
	for _, tt := range []struct {
		name string
		asks map[string]any
		why  []string
	}{
		{"without its own size", map[string]any{"resolutions": []string{"144p"}}, []string{}},
		{"a part", map[string]any{"trim": map[string]any{"startSeconds": 20}}, []string{"trim"}},
		{"with a watermark", map[string]any{"watermark": map[string]any{"id": mark.ID}}, []string{"watermark"}},
	} {
		asked := map[string]any{"filename": "a.mp4", "resolutions": []string{"240p"}, "isPublic": false, "copySource": "auto"}
		maps.Copy(asked, tt.asks)
		u := decode[upload](t, s.call("POST", "/api/video", asked), http.StatusCreated)
		s.put(u, clip(t, goodClip))
		s.complete(u.ID)
		s.waitReady(u)
		if r := s.report(u.ID); r.Copy == nil || r.Copy.Copied || !slices.Equal(r.Copy.Reasons, tt.why) {
			t.Errorf("%s, the report says %+v; want %v", tt.name, r.Copy, tt.why)
		}
	}
}

// What the operator's profile says of the bits of a size goes before a copy, and a new file is copied as the one before.
func TestProfilesAndNewFilesOfACopy(t *testing.T) {
	oneBackend(t, "TestCopiedSource looks at the back ends")
	t.Parallel()
	file := filepath.Join(t.TempDir(), "profiles.toml")
	if err := os.WriteFile(file, []byte("[profile.lean.sizes.240p]\ncrf = 30\n[profile.slow]\npreset = \"slow\""), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, withEnv("SPOOL_PROFILES_FILE", file), withEnv("SPOOL_COPY_SOURCE", "auto"))
	w := s.publish(newVideo{Filename: "a.mp4", Profile: "lean", IsPublic: true}, clip(t, goodClip))
	r := s.report(w.ID)
	if r.Copy == nil || !slices.Equal(r.Copy.Reasons, []string{"bitrate"}) || w.Resolutions["240p"].Method != "encoded" {
		t.Errorf("with a quality of its own, 240p is %s, and the report says %+v", w.Resolutions["240p"].Method, r.Copy)
	}
	said := false
	for _, d := range r.Decisions {
		said = said || strings.Contains(d.Reason, "the profile lean sets the quality or the bitrate of this size")
	}
	if !said {
		t.Errorf("the report does not name the profile: %+v", r.Decisions)
	}
	w = s.publish(newVideo{Filename: "a.mp4", Resolutions: []string{"240p"}, Profile: "slow", IsPublic: true}, clip(t, smallClip))
	if w = s.replaced(w, clip(t, goodClip)); w.Resolutions["240p"].Method != "copied" {
		t.Errorf("the new file is %s", w.Resolutions["240p"].Method)
	}
}

// A server dies after it has stored what it copied, or found out that nothing can be copied, and when it publishes the copy.
func TestACopySurvivesACrash(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, file, method string
		point              failpoint.Point
	}{
		{"copied", clip(t, goodClip), "copied", failpoint.PartStored},
		{"published", clip(t, goodClip), "copied", failpoint.RenditionLinked},
		{"damaged", damagedClip(t), "encoded", failpoint.PartStored},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, withEnv("SPOOL_CRASH_AT", string(tt.point)))
			u := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"240p", "144p"}, IsPublic: true, CopySource: "auto"})
			s.put(u, tt.file)
			dyingWork(s, u)
			s.waitExit(readyTimeout)
			s.restart(withEnv("SPOOL_CRASH_AT", ""))
			completeAgain(s, u)
			w := s.waitReady(u)
			for name, r := range w.Resolutions {
				if name == "240p" && r.Method != tt.method || s.look(r.VideoURL).frames < 600 {
					t.Errorf("%s is %s, with %d frames", name, r.Method, s.look(r.VideoURL).frames)
				}
			}
			s.wantTidy(u)
		})
	}
}
