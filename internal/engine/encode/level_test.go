package encode

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/test/need"
)

func TestLevelOf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		w, h int
		rate float64
		want string
	}{
		{"144p", 256, 144, 25, "1.2"},
		{"240p", 426, 240, 30, "2.1"},
		{"360p", 640, 360, 25, "3"},
		{"480p at 25", 854, 480, 25, "3"},
		{"480p at 30", 854, 480, 30, "3.1"},
		{"720p at 30", 1280, 720, 30, "3.1"},
		{"720p at 60", 1280, 720, 60, "3.2"},
		{"1080p at 24", 1920, 1080, 24, "4"},
		{"1080p at 30", 1920, 1080, 30, "4"},
		{"1080p at 60", 1920, 1080, 60, "4.2"},
		{"1080p upright at 60", 1080, 1920, 60, "4.2"},
		{"1440p at 30", 2560, 1440, 30, "5"},
		{"1440p at 60", 2560, 1440, 60, "5.1"},
		{"4k at 30", 3840, 2160, 30, "5.1"},
		{"4k at 60", 3840, 2160, 60, "5.2"},
		{"cinema 4k at 24", 4096, 2160, 24, "5.1"},
		{"8k at 30", 7680, 4320, 30, "6"},
		{"8k at 60", 7680, 4320, 60, "6.1"},
		{"a long strip goes by its longer side", 8192, 96, 25, "5.1"},
		{"a strip that is too long", 16896, 16, 25, ""},
		{"more pixels than any level has", 8192, 4500, 25, ""},
		{"no known rate", 1280, 720, 0, "3.1"},
	}
	for _, tt := range tests {
		kbps := plan.MaxBitrate(video.Rendition{Width: tt.w, Height: tt.h}, tt.rate)
		got, ok := levelOf(tt.w, tt.h, tt.rate, kbps, bufferSize(kbps))
		if got.name != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: levelOf = %q, %v; want %q", tt.name, got.name, ok, tt.want)
		}
	}
	if l, _ := levelOf(1280, 720, 30, 20_000, 20_000); l.name != "3.2" {
		t.Errorf("720p of 20 Mbit/s has level %s; want 3.2", l.name)
	}
	if l, _ := levelOf(1280, 720, 30, 10_000, 20_000); l.name != "3.2" {
		t.Errorf("720p with a buffer of 20 Mbit has level %s; want 3.2", l.name)
	}
}

func TestHEVCLevelOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		w, h int
		rate float64
		want string
	}{
		{256, 144, 25, "2"}, {854, 480, 30, "3"}, {1280, 720, 30, "3.1"}, {1280, 720, 60, "4"}, {1920, 1080, 24, "4"},
		{1920, 1080, 60, "4.1"}, {1080, 1920, 60, "4.1"}, {3840, 2160, 30, "5.1"}, {3840, 2160, 60, "5.2"}, {7680, 4320, 30, "6.1"},
		{7680, 4320, 60, "6.2"}, {8192, 4500, 120, ""},
	} {
		kbps := plan.MaxBitrate(video.Rendition{Width: tt.w, Height: tt.h}, tt.rate) * 10 / 13
		if got, ok := hevcLevelOf(tt.w, tt.h, tt.rate, kbps); got.name != tt.want || ok != (tt.want != "") {
			t.Errorf("%d × %d at %g has level %q; want %q", tt.w, tt.h, tt.rate, got.name, tt.want)
		}
	}
}

// TestLevelIsTheLowest checks for videos of any kind that the level suffices, that
// none below it does, and that four frames can be kept.
func TestLevelIsTheLowest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w, h := 2*rapid.IntRange(1, 4500).Draw(t, "w/2"), 2*rapid.IntRange(1, 4500).Draw(t, "h/2")
		rate := rapid.Float64Range(1, 60).Draw(t, "rate")
		kbps := rapid.IntRange(plan.MinBitrate, 200_000).Draw(t, "kbps")
		got, ok := levelOf(w, h, rate, kbps, 2*kbps)
		suffices := func(l level) bool {
			mbs := ((w + 15) / 16) * ((h + 15) / 16)
			side := (max(w, h) + 15) / 16
			return mbs <= l.frame && side*side <= 8*l.frame && 4*mbs <= l.kept && float64(mbs)*rate <= float64(l.perSec) &&
				kbps <= l.kbps && 2*kbps <= l.buffer
		}
		i := slices.IndexFunc(levels, suffices)
		if ok != (i >= 0) || ok && levels[i] != got {
			t.Fatalf("%d × %d, %g frames/s, %d kbit/s: level %q; the first that suffices is number %d", w, h, rate, kbps, got.name, i)
		}
	})
}

// TestX264AgreesAboutLevels encodes with our options and reads the level back,
// then lets x264 choose: it must not think that more is needed.
func TestX264AgreesAboutLevels(t *testing.T) {
	t.Parallel()
	tests := []struct {
		w, h  int
		rate  float64
		q     video.Quality
		level int // ten times the name
		refs  int // at most; x264 may keep more for its B-frames, up to four
	}{
		{256, 144, 25, video.Small, 12, 5},
		{854, 480, 30, video.Balanced, 31, 4},
		{1280, 720, 60, video.Small, 32, 5},
		{1920, 1080, 30, video.Small, 40, 4},
		{1080, 1920, 60, video.Fast, 42, 4},
		{3840, 2160, 30, video.Small, 51, 5},
		{7680, 4320, 30, video.Fast, 60, 4},
		{7680, 4320, 60, video.Fast, 61, 4},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%dx%d at %g", tt.w, tt.h, tt.rate), func(t *testing.T) {
			if tt.w > 1920 {
				need.TimeFor(t, "large frames; 1080p at two rates stands for them")
			}
			p := &video.Plan{Quality: tt.q, Input: video.Input{FrameRate: tt.rate}, Chunks: make([]video.Chunk, 1)}
			args := x264Args(settingsFor(p, video.Rendition{Width: tt.w, Height: tt.h}, 0, 1))
			if level, refs := encodedLevel(t, tt.w, tt.h, tt.rate, args); level != tt.level || refs > tt.refs {
				t.Errorf("level %d with %d references; want %d with at most %d", level, refs, tt.level, tt.refs)
			}
			own := slices.Clone(args)
			i := slices.Index(own, "-level:v")
			if level, _ := encodedLevel(t, tt.w, tt.h, tt.rate, slices.Delete(own, i, i+2)); level > tt.level {
				t.Errorf("x264 itself would choose level %d; ours is %d", level, tt.level)
			}
		})
	}
}

func encodedLevel(t *testing.T, w, h int, rate float64, args []string) (level, refs int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.mp4")
	enginetest.RunFFmpeg(t, slices.Concat([]string{"-v", "error", "-nostdin", "-f", "lavfi",
		"-i", fmt.Sprintf("color=s=%dx%d:r=%g", w, h, rate), "-frames:v", "2"}, args, []string{path})...)
	out, err := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-show_entries", "stream=level,refs,profile", "-of", "json", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	var l struct {
		Streams []struct {
			Level   int
			Refs    int
			Profile string
		}
	}
	if err := json.Unmarshal(out, &l); err != nil || len(l.Streams) != 1 || l.Streams[0].Profile != "High" {
		t.Fatalf("ffprobe says %s: %v; want one stream of the High profile", out, err)
	}
	return l.Streams[0].Level, l.Streams[0].Refs
}
