package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const courseProfile = `
[profile.course]
preset = "superfast"
audio_bitrate = "64k"
max_fps = 20

[profile.course.sizes.240p]
max_fps = 60

[profile.course.sizes.144p]
crf = 18
max_bitrate = "300k"
max_fps = 5
`

// A video is made as its profile says, in all codecs, and stays so when the profile is gone from the file.
func TestProfiles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "profiles.toml")
	if err := os.WriteFile(file, []byte(courseProfile), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, withEnv("SPOOL_PROFILES_FILE", file))
	r := s.call("POST", "/api/video", newVideo{Filename: "a.mp4", Profile: "corse"})
	r.problem(t, http.StatusBadRequest, "invalid_request")
	if !strings.Contains(string(r.body), "the profiles are: course") {
		t.Errorf("an unknown profile gets %s", r.body)
	}
	u := s.submit(newVideo{Filename: "tiny.mp4", IsPublic: true, Profile: "course", Codecs: []string{"h264", "hevc"}}, clip(t, tinyClip))
	s.waitReady(u)
	w := s.read(u)
	if w.Profile != "course" || len(w.Resolutions) != 2 {
		t.Fatalf("the video is %+v", w)
	}
	s.wantFrames(w, map[string]int{"240p": 50, "144p": 10})
	master := string(s.fetch(w.HLSURL))
	if !strings.Contains(master, "FRAME-RATE=25.000") || !strings.Contains(master, "FRAME-RATE=5.000") {
		t.Errorf("the playlist is\n%s", master)
	}
	s.until("HEVC is there", readyTimeout, func() bool {
		w = s.read(u)
		return !slices.ContainsFunc([]string{"240p", "144p"}, func(name string) bool { return w.Resolutions[name].Variants[1].Status == "processing" })
	})
	for name, r := range w.Resolutions {
		if r.Variants[1].Status != "ready" {
			t.Errorf("HEVC of %s is %+v", name, r.Variants[1])
		} else if a, b := s.look(r.VideoURL), s.look(r.Variants[1].VideoURL); !slices.Equal(a.times, b.times) {
			t.Errorf("%s has %d frames in H.264 and %d in HEVC, or at other times", name, a.frames, b.frames)
		}
	}

	if err := os.WriteFile(file, []byte("[profile.other]"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.restart()
	if r := s.call("POST", "/api/video/"+u.ID+"/resolutions", map[string]string{"resolution": "360p"}); r.status >= 300 {
		t.Fatalf("adding a resolution answers %d %s", r.status, r.body)
	}
	s.waitReady(u)
	s.wantFrames(s.read(u), map[string]int{"360p": 40, "240p": 50, "144p": 10})
}

// wantFrames wants resolutions with so many frames.
func (s *server) wantFrames(w watch, want map[string]int) {
	s.t.Helper()
	for name, frames := range want {
		if r := w.Resolutions[name]; r.Status != "ready" || s.look(r.VideoURL).frames != frames {
			s.t.Errorf("%s is %s with %d frames; want %d", name, r.Status, s.look(r.VideoURL).frames, frames)
		}
	}
}

// A file with a mistake stops the start, with a sentence.
func TestAFileOfProfilesWithAMistake(t *testing.T) {
	oneBackend(t, "no back end is opened")
	t.Parallel()
	file := filepath.Join(t.TempDir(), "profiles.toml")
	if err := os.WriteFile(file, []byte("[profile.course]\npreset = \"slwo\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := prepare(t, withEnv("SPOOL_PROFILES_FILE", file))
	for _, command := range []string{"serve", "doctor"} {
		out, err := s.command(command).CombinedOutput()
		if err == nil || !strings.Contains(string(out), `line 2: profile.course.preset is "slwo"; did you mean "slow"?`) {
			t.Errorf("spool %s ends with %v and prints %s", command, err, out)
		}
	}
}
