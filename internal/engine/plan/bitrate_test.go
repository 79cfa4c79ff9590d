package plan

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

func TestPeakBitrate(t *testing.T) {
	t.Parallel()
	// A key every second; the number is the bytes of that second.
	film := func(bytes ...int64) *probe.Timeline {
		l := probe.NewTimeline()
		for i, b := range bytes {
			l.Add(probe.Packet{Type: "video", PTS: int64(i * 1000), Duration: 500, Size: b / 2, Flags: "K_"})
			l.Add(probe.Packet{Type: "video", PTS: int64(i*1000 + 500), Duration: 500, Size: b / 2, Flags: "__"})
		}
		l.Sort()
		return l
	}
	ms := video.Ratio{Num: 1, Den: 1000}
	tests := []struct {
		name       string
		line       *probe.Timeline
		start, end int64
		want       int64
	}{
		{"an even video", film(1000, 1000, 1000, 1000, 1000, 1000), 0, 6000, 8000},
		{"five wild seconds", film(100, 100, 100, 100, 100, 1000, 1000, 1000, 1000, 1000, 100, 100, 100, 100, 100), 0, 15000, 8000},
		{"a single large frame is spread", film(100, 100, 5000, 100, 100, 100, 100, 100, 100, 100), 0, 10000, 8640},
		{"a rest joins the stretch before", film(1000, 1000, 1000, 1000, 1000, 7000), 0, 6000, 16000},
		{"a clip of one second", film(1000), 0, 1000, 8000},
		{"only a part", film(9000, 9000, 1000, 1000), 2000, 4000, 8000},
		{"from the middle of a GOP", film(4000, 1000), 500, 2000, 16000},
		{"up to the middle of a GOP", film(1000, 4000), 0, 1500, 16000},
		{"no keyframe at all", probe.NewTimeline(), 0, 1000, 0},
	}
	for _, tt := range tests {
		if got := peakBitrate(tt.line, tt.start, tt.end, ms); got != tt.want {
			t.Errorf("%s: %d bit/s; want %d", tt.name, got, tt.want)
		}
	}
}

func TestAGroupThatAnEditListCutsIntoCounts(t *testing.T) {
	t.Parallel()
	l := probe.NewTimeline()
	l.Add(probe.Packet{Type: "video", PTS: -500, Duration: 500, Size: 1000, Flags: "KD"})
	l.Add(probe.Packet{Type: "video", PTS: 0, Duration: 500, Size: 500, Flags: "__"})
	l.Sort()
	chunks := []video.Chunk{{Start: 0, End: video.Forever}}
	setPeakBitrates(chunks, l, video.Ratio{Num: 1, Den: 1000})
	if chunks[0].Bitrate != 24_000 {
		t.Errorf("half a second of 1500 bytes has %d bit/s; want 24000", chunks[0].Bitrate)
	}
}

// TestNoChunkIsBusierThanItsBytes checks, for videos of any shape, that the rate
// lies between the average and all bytes at once, but for what two roundings take.
func TestNoChunkIsBusierThanItsBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l, clock, sum := probe.NewTimeline(), int64(0), int64(0)
		for i := range rapid.IntRange(1, 200).Draw(t, "frames") {
			p := probe.Packet{Type: "video", PTS: clock, Duration: rapid.Int64Range(1, 3000).Draw(t, "length"), Size: rapid.Int64Range(0, 1e6).Draw(t, "size"), Flags: "__"}
			if i == 0 || rapid.Bool().Draw(t, "key") {
				p.Flags = "K_"
			}
			clock += p.Duration
			sum += p.Size
			l.Add(p)
		}
		l.Sort()
		chunks := []video.Chunk{{Start: 0, End: video.Forever}}
		setPeakBitrates(chunks, l, video.Ratio{Num: 1, Den: 1000})
		average := float64(sum) * 8 / (time.Duration(clock) * time.Millisecond).Seconds()
		if got := float64(chunks[0].Bitrate); got < average-2 || clock > 2*peakSeconds*1000 && got > float64(sum)*8/peakSeconds+2 {
			t.Fatalf("%g bit/s for an average of %g", got, average)
		}
	})
}
