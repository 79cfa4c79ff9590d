package plan

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

// film has a keyframe every second, and the given bytes in each.
func film(bytes ...int64) *probe.Timeline {
	l := probe.NewTimeline()
	for i, b := range bytes {
		l.Add(probe.Packet{Type: "video", PTS: int64(i * 1000), Duration: 500, Size: b / 2, Flags: "K_"})
		l.Add(probe.Packet{Type: "video", PTS: int64(i*1000 + 500), Duration: 500, Size: b / 2, Flags: "__"})
	}
	l.Sort()
	return l
}

func TestBytesOfAChunk(t *testing.T) {
	t.Parallel()
	cut := probe.NewTimeline() // an edit list cuts into its first group
	cut.Add(probe.Packet{Type: "video", PTS: -500, Duration: 500, Size: 1000, Flags: "KD"})
	cut.Add(probe.Packet{Type: "video", PTS: 0, Duration: 500, Size: 500, Flags: "__"})
	cut.Sort()
	tests := []struct {
		name       string
		line       *probe.Timeline
		start, end int64
		want       int64
	}{
		{"a whole video", film(1000, 3000, 1000), 0, video.Forever, 5000},
		{"from a keyframe to another", film(9000, 1000, 3000, 9000), 1000, 3000, 4000},
		{"from the middle of a GOP", film(4000, 1000), 500, 2000, 3000},
		{"up to the middle of a GOP", film(1000, 4000), 0, 1500, 3000},
		{"a group that an edit list cuts into counts whole", cut, 0, video.Forever, 1500},
		{"no keyframe at all", probe.NewTimeline(), 0, 1000, 0},
	}
	for _, tt := range tests {
		chunks := []video.Chunk{{Start: tt.start, End: tt.end}}
		if setBytes(chunks, tt.line); chunks[0].Bytes != tt.want {
			t.Errorf("%s: %d bytes; want %d", tt.name, chunks[0].Bytes, tt.want)
		}
	}
}

// The chunks of a video of any shape have all bytes together, but for what rounding takes.
func TestChunksHaveAllBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l, clock, sum := probe.NewTimeline(), int64(0), int64(0)
		var borders []int64
		for i := range rapid.IntRange(1, 200).Draw(t, "frames") {
			p := probe.Packet{Type: "video", PTS: clock, Duration: rapid.Int64Range(1, 3000).Draw(t, "length"), Size: rapid.Int64Range(0, 1e6).Draw(t, "size"), Flags: "__"}
			if i == 0 || rapid.Bool().Draw(t, "key") {
				p.Flags = "K_"
			}
			if i == 0 || rapid.IntRange(0, 20).Draw(t, "border") == 0 {
				borders = append(borders, clock)
			}
			clock += p.Duration
			sum += p.Size
			l.Add(p)
		}
		l.Sort()
		var chunks []video.Chunk
		for i, start := range borders {
			chunks = append(chunks, video.Chunk{Start: start, End: video.Forever})
			if i > 0 {
				chunks[i-1].End = start
			}
		}
		setBytes(chunks, l)
		var got int64
		for _, c := range chunks {
			got += c.Bytes
		}
		if got > sum || got < sum-2*int64(len(chunks)) {
			t.Fatalf("the chunks have %d bytes of %d", got, sum)
		}
	})
}
