package plan

import (
	"testing"

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
			for _, c := range DefaultChunking.chunks(line, video.Ratio{Num: 1, Den: 1}, true, frameLimit{}) {
				got = append(got, min(c.End, tt.seconds)-c.Start)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("seconds of the chunks (-want +got):\n%s", diff)
			}
		})
	}
}
