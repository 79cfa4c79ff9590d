package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/video"
)

func readProfiles(t *testing.T, text string) ([]video.Profile, []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "profiles.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	all, faults := ReadProfiles(path)
	for i, f := range faults {
		faults[i] = strings.ReplaceAll(f, path, "FILE")
	}
	return all, faults
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	got, faults := readProfiles(t, `
[profile.course]
preset = "slow"
audio_bitrate = "96k"
max_fps = 30

[profile.course.sizes.720p]
crf = 27.5
max_bitrate = "1.5M"

[profile.course.sizes."480p"]
crf = 28
max_bitrate = 700000
max_fps = 15

[profile.archive]
`)
	want := []video.Profile{{Name: "archive"}, {
		Name: "course", Preset: "slow", AudioBitrate: 96_000, MaxFPS: 30,
		Sizes: map[video.Name]video.ProfileSize{"720p": {CRF: 27.5, MaxBitrate: 1_500_000}, "480p": {CRF: 28, MaxBitrate: 700_000, MaxFPS: 15}},
	}}
	if diff := cmp.Diff(want, got); diff != "" || faults != nil {
		t.Errorf("profiles: %s%v", diff, faults)
	}
}

// Each sentence names the line, the key and what is allowed.
func TestFaultsOfProfiles(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"nothing in it", "# later", "FILE has no profile: add a table such as [profile.course]."},
		{"another table", "[profil.course]", "profiles_file: FILE, line 1: profil is not known; did you mean \"profile\"? Allowed are: profile."},
		{"no TOML", "[profile.course", "FILE is no TOML: "},
		{"a name with a space", "[profile.'a b']", "line 1: profile.a b has a name that is not allowed"},
		{"a profile that is a number", "profile.course = 3", "line 1: profile.course must be a table, such as [profile.course]."},
		{"a misspelt key", "[profile.course]\npresett = 'slow'", `line 2: profile.course.presett is not known; did you mean "preset"? Allowed are: preset, audio_bitrate, max_fps, sizes.`},
		{"a misspelt preset", "[profile.course]\n\npreset = 'sloww'", `line 3: profile.course.preset is "sloww"; did you mean "slow"? Allowed are: superfast, veryfast,`},
		{"a size that does not exist", "[profile.course.sizes.700p]\ncrf = 20", `line 1: profile.course.sizes.700p is not known; did you mean "720p"? Allowed are: 144p,`},
		{"a misspelt key of a size", "[profile.course.sizes.720p]\nmax_bitrat = '2M'", `line 2: profile.course.sizes.720p.max_bitrat is not known; did you mean "max_bitrate"? Allowed are: crf, max_bitrate, max_fps.`},
		{"a CRF of a lossless file", "[profile.course.sizes.720p]\ncrf = 0", "line 2: profile.course.sizes.720p.crf is 0: it must be a number from 1 to 51."},
		{"a bitrate without a unit", "[profile.course]\naudio_bitrate = 96", `line 2: profile.course.audio_bitrate is "96": it must be from 32k to 320k, such as "96k".`},
		{"a bitrate that is no number", "[profile.course.sizes.720p]\nmax_bitrate = 'much'", `is "much": it must be from 64k to 240M, such as "96k".`},
		{"a frame rate with a fraction", "[profile.course]\nmax_fps = 29.97", "line 2: profile.course.max_fps is 29.97: it must be a whole number from 1 to 60."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, faults := readProfiles(t, tt.text); len(faults) != 1 || !strings.Contains(faults[0], tt.want) {
				t.Errorf("the faults are %q; want one with %q", faults, tt.want)
			}
		})
	}
	if _, faults := ReadProfiles(filepath.Join(t.TempDir(), "none.toml")); len(faults) != 1 || !strings.Contains(faults[0], "profiles_file cannot be read") {
		t.Errorf("without the file: %q", faults)
	}
	if _, faults := readProfiles(t, "[profile.a]\nx = 1\nmax_fps = 0\n[profile.b]\npreset = 1"); len(faults) != 3 {
		t.Errorf("of three faults it tells %q", faults)
	}
}
