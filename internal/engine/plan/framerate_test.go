package plan

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

// timelineAt returns a timeline in microseconds of frames at these seconds.
func timelineAt(seconds ...float64) *probe.Timeline {
	l := probe.NewTimeline()
	for i, s := range seconds {
		flags := "__"
		if i%10 == 0 {
			flags = "K_"
		}
		us := int64(s*1e6 + 0.5)
		l.Add(probe.Packet{Type: "video", PTS: us, DTS: us, Flags: flags})
	}
	l.Sort()
	return l
}

func steady(rate float64, n int) []float64 {
	var out []float64
	for i := range n {
		out = append(out, float64(i)/rate)
	}
	return out
}

// jitter moves every frame by up to that many seconds.
func jitter(times []float64, by float64) []float64 {
	out := slices.Clone(times)
	for i := range out {
		out[i] += by * float64(i*7%11-5) / 5
	}
	return out
}

var us = video.Ratio{Num: 1, Den: 1_000_000}

func TestFrameLimit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		times       []float64
		least, most int // frames that pass; both 0 means that there is no limit
	}{
		{"25 frames a second", steady(25, 250), 0, 0},
		{"60 frames a second", steady(60, 600), 0, 0},
		{"60 frames a second, rounded to milliseconds", jitter(steady(60, 600), 0.0005), 0, 0},
		{"59.94 frames a second of a jittery camera", jitter(steady(59.94, 600), 0.004), 0, 0},
		{"60.06 frames a second for a minute", steady(60.06, 3604), 3595, 3601},
		{"120 frames a second", steady(120, 1200), 600, 600},
		{"90 frames a second", steady(90, 900), 599, 601},
		{"240 frames a second", steady(240, 2400), 600, 601},
		{"1000 frames a second", steady(1000, 5000), 299, 301},
		{"a burst in a slow video", append(steady(240, 480), 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20), 130, 132},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			line := timelineAt(tt.times...)
			paced := newFrameLimit(line, us, maxRate)
			if (paced.limit > 0) != (tt.most > 0) {
				t.Fatalf("limit is %d", paced.limit)
			}
			chunks := []video.Chunk{{Start: line.First, End: video.Forever}}
			countFrames(chunks, line, paced)
			if n := chunks[0].Frames; tt.most > 0 && (n < tt.least || n > tt.most) {
				t.Errorf("%d frames pass; want %d to %d", n, tt.least, tt.most)
			}
		})
	}
}

// TestFrameLimitIsTheSameInChunks cuts fast videos anywhere a chunk may begin, and
// makes sure that no second holds too many frames.
func TestFrameLimitIsTheSameInChunks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(60.5, 1000).Draw(t, "rate")
		line := timelineAt(jitter(steady(rate, 1000), rapid.Float64Range(0, 0.4/rate).Draw(t, "jitter"))...)
		paced := frameLimit{tb: us, limit: maxRate}
		var passing []int64
		for _, pts := range line.Shown {
			if paced.keeps(pts, line) {
				passing = append(passing, pts)
			}
		}
		for i := maxRate + 1; i < len(passing); i++ {
			if passing[i]-passing[i-maxRate-1] < 1_000_000 {
				t.Fatalf("more than %d frames between %d and %d µs", maxRate+1, passing[i-maxRate-1], passing[i])
			}
		}
		whole := []video.Chunk{{Start: line.First, End: video.Forever}}
		countFrames(whole, line, paced)
		border := passing[rapid.IntRange(1, len(passing)-1).Draw(t, "border")]
		two := []video.Chunk{{Start: line.First, End: border}, {Start: border, End: video.Forever}}
		countFrames(two, line, paced)
		if whole[0].Frames != len(passing) || two[0].Frames+two[1].Frames != len(passing) {
			t.Fatalf("%d frames pass, the video has %d, its halves %d and %d", len(passing), whole[0].Frames, two[0].Frames, two[1].Frames)
		}
	})
}
