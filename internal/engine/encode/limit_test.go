package encode

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/spool-video/spool/internal/video"
)

// limitPlan is a plan of two chunks of 20 s and one of 2 s, whose source has so many bits a second.
func limitPlan(codec string, rate float64) *video.Plan {
	return basicPlan(func(p *video.Plan) {
		p.Input.Codec, p.Input.CodedWidth, p.Input.CodedHeight = codec, 1920, 1080
		p.Input.TimeBase, p.Input.FrameRate, p.FirstPTS, p.Duration = video.Ratio{Num: 1, Den: 1000}, 25, 0, 42e9
		p.Chunks = []video.Chunk{{Start: 0, End: 20_000}, {Start: 20_000, End: 40_000}, {Start: 40_000, End: video.Forever}}
		for i := range p.Chunks {
			p.Chunks[i].Bytes = int64(rate * p.Length(i).Seconds() / 8)
		}
	})
}

func TestTheSourceLimitsItsRenditions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		codec string
		rate  float64
		to    video.Codec
		w, h  int
		want  int64 // 0: none
	}{
		{"H.264 of H.264 has no more than its source", "h264", 4e6, video.H264, 1920, 1080, 4_000_000},
		{"neither has a larger one", "h264", 4e6, video.H264, 3840, 2160, 4_000_000},
		{"a newer codec holds more in a bit", "hevc", 2e6, video.H264, 1920, 1080, 3_000_000},
		{"HEVC of HEVC has no more", "hevc", 2e6, video.HEVC, 1920, 1080, 2_000_000},
		{"AV1 holds more than HEVC", "av1", 2e6, video.HEVC, 1920, 1080, 3_000_000},
		{"artefacts of an old codec have to be kept", "mpeg2video", 2e6, video.H264, 1920, 1080, 4_000_000},
		{"a quarter of the pixels needs more than a quarter", "h264", 2e6, video.H264, 960, 540, 1_741_101},
		{"a sixteenth of the pixels needs less", "h264", 2e6, video.H264, 480, 270, 757_858},
		{"the size limits it more", "h264", 50e6, video.H264, 1920, 1080, 0},
		{"a video that stands still has its keyframes", "h264", 10_000, video.H264, 1920, 1080, 64_000},
		{"a codec for editing says nothing", "prores", 1e6, video.H264, 1920, 1080, 0},
		{"nor does a source whose bytes are not known", "h264", 0, video.H264, 1920, 1080, 0},
	}
	for _, tt := range tests {
		most, limited := sourceLimit(limitPlan(tt.codec, tt.rate), video.Rendition{Width: tt.w, Height: tt.h}, tt.to)
		if limited != (tt.want > 0) || limited && math.Abs(float64(most-tt.want)) > 2 {
			t.Errorf("%s: %d bits a second, %t; want %d", tt.name, most, limited, tt.want)
		}
	}
}

// However the bytes of a source are spread, what its chunks may have together is what the rendition may have: an encoder
// spends its cap in every second, and its buffer once.
func TestChunksKeepTheLimitTogether(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := limitPlan("h264", 0)
		for i := range p.Chunks {
			p.Chunks[i].Bytes = rapid.Int64Range(0, 1e8).Draw(t, "bytes")
		}
		p.Input.FrameRate = rapid.SampledFrom([]float64{0.2, 1, 25, 60}).Draw(t, "rate")
		r := video.Rendition{Width: 1920, Height: 1080}
		most := rapid.Int64Range(leastLimit, 2e7).Draw(t, "most")
		r.MaxBitrate = map[video.Codec]int64{video.H264: most}
		sum := 0.0
		for n := range p.Chunks {
			o := settingsFor(p, r, n, 1)
			if o.kbps > o.highest || o.buffer > bufferSize(o.highest) || o.kbps < 1 || o.buffer < 1 {
				t.Fatalf("chunk %d has a cap of %d and a buffer of %d; the level allows %d", n, o.kbps, o.buffer, o.highest)
			}
			sum += 1000 * (float64(o.kbps)*p.Length(n).Seconds() + filled*float64(o.buffer))
		}
		if allowed := float64(most)*p.Duration.Seconds() + 3e5; sum > allowed { // no cap is below 1 kbit/s
			t.Fatalf("chunks may have %.0f bits; the rendition %.0f", sum, allowed)
		}
	})
}

func TestAPlanWithoutLimitsHasTheCapOfItsSize(t *testing.T) {
	t.Parallel()
	p := basicPlan(nil) // as earlier versions stored it
	r := video.Rendition{Width: 1920, Height: 1080}
	if o := settingsFor(p, r, 1, 1); o.kbps != 10_000 || o.buffer != 20_000 {
		t.Errorf("%d kbit/s with a buffer of %d; want 10000 and 20000", o.kbps, o.buffer)
	}
	p.Codec, r.MaxBitrate = video.AV1, map[video.Codec]int64{video.H264: 1_000_000}
	if o := settingsFor(p, r, 1, 1); o.kbps != o.highest {
		t.Errorf("AV1 has the limit of H.264: %d kbit/s", o.kbps)
	}
}
