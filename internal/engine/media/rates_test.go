package media

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spool-video/spool/internal/video"
)

func TestCapGrowsWithPicturesAndRate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		w, h int
		rate float64
		want int
	}{
		{"full HD", 1920, 1080, 25, 10_000},
		{"full HD upright", 1080, 1920, 30, 10_000},
		{"full HD, fast", 1920, 1080, 50, 15_000},
		{"wide film", 1920, 800, 24, 7407},
		{"between two sizes", 960, 540, 25, 3093},
		{"tiny", 16, 8, 25, lowestCap},
		{"larger than the table", 8192, 4500, 25, 133_333},
	}
	for _, tt := range tests {
		if got := capOf(video.Rendition{Width: tt.w, Height: tt.h}, tt.rate); got != tt.want {
			t.Errorf("%s: capOf = %d kbit/s; want %d", tt.name, got, tt.want)
		}
	}
}

func TestCapFollowsTheSource(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		codec   string
		bitrate int64
		to      video.Codec
		w, h    int
		want    int
	}{
		{"an H.264 source needs a little more than it has", "h264", 4_000_000, video.H264, 1920, 1080, 5000},
		{"HEVC holds more in a bit", "hevc", 2_000_000, video.H264, 1920, 1080, 4000},
		{"nothing is gained from HEVC to HEVC", "hevc", 2_000_000, video.HEVC, 1920, 1080, 2500},
		{"AV1 makes do with half", "h264", 4_000_000, video.AV1, 1920, 1080, 2500},
		{"a quarter of the pixels needs more than a quarter", "h264", 4_000_000, video.H264, 960, 540, 2176},
		{"the table is still the limit", "h264", 50_000_000, video.H264, 1920, 1080, 10_000},
		{"a film that stands still gets a tenth of it", "h264", 10_000, video.H264, 1920, 1080, 1000},
		{"a codec for editing says nothing", "prores", 1_000_000, video.H264, 1920, 1080, 10_000},
		{"nor does a rate that nobody knows", "h264", 0, video.H264, 1920, 1080, 10_000},
	}
	for _, tt := range tests {
		p := basicPlan(func(p *video.Plan) {
			p.Codec, p.Input.Codec, p.Chunks[1].Bitrate = tt.to, tt.codec, tt.bitrate
		})
		o := makeOrder(p, video.Rendition{Width: tt.w, Height: tt.h}, 1, 1)
		if o.kbps != tt.want || o.buffer != 2*tt.want {
			t.Errorf("%s: %d kbit/s with a buffer of %d; want %d and twice that", tt.name, o.kbps, o.buffer, tt.want)
		}
	}
}

func TestTheRateOfAFastFilmIsThatOfTheOutput(t *testing.T) {
	t.Parallel()
	p := basicPlan(func(p *video.Plan) { p.Input.FrameRate, p.LimitRate = 240, 60 })
	if o := makeOrder(p, p.Renditions[0], 0, 1); o.fps != 60 || o.kbps != 15_000 {
		t.Errorf("a film of 240 frames a second is encoded at %g with %d kbit/s; want 60 with 15000", o.fps, o.kbps)
	}
}

func TestEveryCodecHasEveryQuality(t *testing.T) {
	t.Parallel()
	for _, c := range video.Codecs {
		for _, name := range video.Names {
			r := video.Rendition{Width: 2 * name.ShortSide(), Height: name.ShortSide()}
			for _, q := range video.Qualities {
				e := effortOf(c, q, r)
				if e.preset == "" || e.crf == 0 {
					t.Errorf("%s, %s, %s: effort %+v", c, q, name, e)
				}
				if c == video.H264 && x264References[e.preset] == 0 {
					t.Errorf("nobody knows how many pictures x264 refers to with %s", e.preset)
				}
			}
			if effortOf(c, "", r) != effortOf(c, video.Balanced, r) {
				t.Errorf("%s: a plan without a quality is not balanced", c)
			}
		}
		if density[string(c)] == 0 || sampleEntries[c] == "" {
			t.Errorf("%s has no density or no name in an MP4", c)
		}
	}
}

func TestBusiest(t *testing.T) {
	t.Parallel()
	// A key every second; the number is the bytes of that second.
	film := func(bytes ...int64) *timeline {
		l := newTimeline()
		for i, b := range bytes {
			l.add(packet{Type: "video", PTS: int64(i * 1000), Duration: 500, Size: b / 2, Flags: "K_"})
			l.add(packet{Type: "video", PTS: int64(i*1000 + 500), Duration: 500, Size: b / 2, Flags: "__"})
		}
		l.settle()
		return l
	}
	ms := video.Ratio{Num: 1, Den: 1000}
	tests := []struct {
		name       string
		line       *timeline
		start, end int64
		want       int64
	}{
		{"an even film", film(1000, 1000, 1000, 1000, 1000, 1000), 0, 6000, 8000},
		{"five wild seconds", film(100, 100, 100, 100, 100, 1000, 1000, 1000, 1000, 1000, 100, 100, 100, 100, 100), 0, 15000, 8000},
		{"a single large picture is spread", film(100, 100, 5000, 100, 100, 100, 100, 100, 100, 100), 0, 10000, 8640},
		{"a rest joins the stretch before", film(1000, 1000, 1000, 1000, 1000, 7000), 0, 6000, 16000},
		{"a clip of one second", film(1000), 0, 1000, 8000},
		{"only a part", film(9000, 9000, 1000, 1000), 2000, 4000, 8000},
		{"no keyframe at all", newTimeline(), 0, 1000, 0},
	}
	for _, tt := range tests {
		if got := tt.line.busiest(tt.start, tt.end, ms); got != tt.want {
			t.Errorf("%s: %d bit/s; want %d", tt.name, got, tt.want)
		}
	}
}

func TestAGroupThatAnEditListCutsIntoCounts(t *testing.T) {
	t.Parallel()
	l := newTimeline()
	l.add(packet{Type: "video", PTS: -500, Duration: 500, Size: 1000, Flags: "KD"})
	l.add(packet{Type: "video", PTS: 0, Duration: 500, Size: 500, Flags: "__"})
	l.settle()
	chunks := []video.Chunk{{Start: 0, End: video.Forever}}
	l.weigh(chunks, video.Ratio{Num: 1, Den: 1000})
	if chunks[0].Bitrate != 24_000 {
		t.Errorf("half a second of 1500 bytes has %d bit/s; want 24000", chunks[0].Bitrate)
	}
}

// TestNoChunkIsBusierThanItsBytes checks, for films of any shape, that the rate
// lies between the average and all bytes at once.
func TestNoChunkIsBusierThanItsBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l, clock, sum := newTimeline(), int64(0), int64(0)
		for i := range rapid.IntRange(1, 200).Draw(t, "frames") {
			p := packet{Type: "video", PTS: clock, Duration: rapid.Int64Range(1, 3000).Draw(t, "length"), Size: rapid.Int64Range(0, 1e6).Draw(t, "size"), Flags: "__"}
			if i == 0 || rapid.Bool().Draw(t, "key") {
				p.Flags = "K_"
			}
			clock += p.Duration
			sum += p.Size
			l.add(p)
		}
		l.settle()
		chunks := []video.Chunk{{Start: 0, End: video.Forever}}
		l.weigh(chunks, video.Ratio{Num: 1, Den: 1000})
		average := float64(sum) * 8 / (time.Duration(clock) * time.Millisecond).Seconds()
		if got := float64(chunks[0].Bitrate); got < average-1 || clock > 2*busySeconds*1000 && got > float64(sum)*8/busySeconds+1 {
			t.Fatalf("%g bit/s for an average of %g", got, average)
		}
	})
}
