package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

// TestChunksGetShorter cuts videos of several lengths, which have a keyframe every
// second or every ten.
func TestChunksGetShorter(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		seconds, keys int64
		want          []int64 // how many seconds each chunk has
	}{
		{"too short to cut", 29, 1, []int64{29}},
		{"just long enough", 30, 1, []int64{10, 10, 10}},
		{"the rest joins", 34, 1, []int64{10, 10, 14}},
		{"the rest is a chunk", 35, 1, []int64{10, 10, 10, 5}},
		{"three minutes", 180, 1, []int64{20, 20, 17, 15, 13, 11, 10, 10, 10, 10, 10, 10, 10, 14}},
		{"few keyframes", 180, 10, []int64{20, 20, 20, 20, 20, 10, 10, 10, 10, 10, 10, 10, 10}},
		{"no second keyframe", 180, 180, []int64{180}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			line := &probe.Timeline{Last: tt.seconds - 1, LastDuration: 1}
			for at := int64(0); at < tt.seconds; at += tt.keys {
				line.Keys = append(line.Keys, probe.Keyframe{PTS: at, Border: true})
			}
			var got []int64
			for _, c := range DefaultChunking.chunks(line, video.Ratio{Num: 1, Den: 1}, borders(line), true, likeTheRest, frameLimit{}) {
				got = append(got, min(c.End, tt.seconds)-c.Start)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("seconds of the chunks (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLargeVideosHaveShortChunks checks the lengths, and that usual sizes keep theirs.
func TestLargeVideosHaveShortChunks(t *testing.T) {
	t.Parallel()
	ladder := func(rate float64, sizes ...int) *video.Plan {
		p := &video.Plan{Input: video.Input{FrameRate: rate}}
		for _, height := range sizes {
			p.Renditions = append(p.Renditions, video.Rendition{Width: height * 16 / 9, Height: height})
		}
		return p
	}
	to4k := []int{2160, 1440, 1080, 720, 480, 360, 240, 144}
	to8k := append([]int{4320}, to4k...)
	for _, tt := range []struct {
		name          string
		plan          *video.Plan
		length, whole time.Duration
	}{
		{"1080p at 60", ladder(60, 1080, 720, 480), 20 * time.Second, 30 * time.Second},
		{"all sizes up to 4k at 30", ladder(30, to4k...), 20 * time.Second, 30 * time.Second},
		{"an unknown rate", ladder(0, to8k...), 20 * time.Second, 30 * time.Second},
		{"all sizes up to 8k at 30", ladder(30, to8k...), 6800 * time.Millisecond, 10200 * time.Millisecond},
		{"all sizes up to 8k at 60", ladder(60, to8k...), 5 * time.Second, 7500 * time.Millisecond},
		{"more frames than are encoded", ladder(1000, to8k...), 5 * time.Second, 7500 * time.Millisecond},
	} {
		got := DefaultChunking.forPixels(pixelRate(tt.plan))
		if got.Length.Round(100*time.Millisecond) != tt.length || got.Whole.Round(100*time.Millisecond) != tt.whole {
			t.Errorf("%s: chunks of %v, and of one piece up to %v; want %v and %v", tt.name, got.Length, got.Whole, tt.length, tt.whole)
		}
	}
}
