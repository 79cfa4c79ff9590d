package encode

import (
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/video"
)

func TestCapGrowsWithFramesAndRate(t *testing.T) {
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
		{"wide video", 1920, 800, 24, 7407},
		{"between two sizes", 960, 540, 25, 3093},
		{"tiny", 16, 8, 25, minBitrate},
		{"larger than the table", 8192, 4500, 25, 133_333},
	}
	for _, tt := range tests {
		if got := maxBitrate(video.Rendition{Width: tt.w, Height: tt.h}, tt.rate); got != tt.want {
			t.Errorf("%s: maxBitrate = %d kbit/s; want %d", tt.name, got, tt.want)
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
		{"an H.264 source needs more than it has", "h264", 4_000_000, video.H264, 1920, 1080, 8000},
		{"HEVC holds more in a bit", "hevc", 2_000_000, video.H264, 1920, 1080, 6400},
		{"AV1 makes do with three quarters", "h264", 4_000_000, video.AV1, 1920, 1080, 6153},
		{"a quarter of the pixels needs more than a quarter", "h264", 4_000_000, video.H264, 960, 540, 3093},
		{"the table is still the limit", "h264", 50_000_000, video.H264, 1920, 1080, 10_000},
		{"a video that stands still gets a tenth of it", "h264", 10_000, video.H264, 1920, 1080, 1000},
		{"a codec for editing says nothing", "prores", 1_000_000, video.H264, 1920, 1080, 10_000},
		{"nor does a rate that nobody knows", "h264", 0, video.H264, 1920, 1080, 10_000},
	}
	for _, tt := range tests {
		p := basicPlan(func(p *video.Plan) {
			p.Codec, p.Input.Codec, p.Chunks[1].Bitrate = tt.to, tt.codec, tt.bitrate
		})
		o := settingsFor(p, video.Rendition{Width: tt.w, Height: tt.h}, 1, 1)
		if o.kbps != tt.want || o.buffer != 2*tt.want {
			t.Errorf("%s: %d kbit/s with a buffer of %d; want %d and twice that", tt.name, o.kbps, o.buffer, tt.want)
		}
	}
}

func TestTheRateOfAFastVideoIsThatOfTheOutput(t *testing.T) {
	t.Parallel()
	p := basicPlan(func(p *video.Plan) { p.Input.FrameRate, p.LimitRate = 240, 60 })
	if o := settingsFor(p, p.Renditions[0], 0, 1); o.fps != 60 || o.kbps != 15_000 {
		t.Errorf("a video of 240 frames a second is encoded at %g with %d kbit/s; want 60 with 15000", o.fps, o.kbps)
	}
}

func TestOnlyLargeFramesAtAnOrdinaryRateAreSearchedBriefly(t *testing.T) {
	t.Parallel()
	for _, q := range []video.Quality{video.Fast, video.Balanced} {
		for _, tt := range []struct {
			height int
			fps    float64
			want   bool
		}{{1080, 30, true}, {720, 24, true}, {480, 30, false}, {1080, 50, false}, {1080, 0, true}} {
			p := basicPlan(func(p *video.Plan) { p.Quality, p.Input.FrameRate = q, tt.fps })
			o := settingsFor(p, video.Rendition{Width: tt.height * 16 / 9, Height: tt.height}, 0, 1)
			if got := strings.Contains(o.effort.options, brief); got != tt.want || !strings.HasSuffix(o.effort.options, evenly) {
				t.Errorf("%s, %d lines, %g frames a second: %s", q, tt.height, tt.fps, o.effort.options)
			}
		}
	}
}

func TestEveryCodecHasEveryQuality(t *testing.T) {
	t.Parallel()
	for _, c := range append([]video.Codec{video.H264}, video.ExtraCodecs...) {
		for _, name := range video.Names {
			r := video.Rendition{Width: 2 * name.ShortSide(), Height: name.ShortSide()}
			for _, q := range video.Qualities {
				e := effortOf(c, q, r)
				if e.preset == "" || e.crf == 0 {
					t.Errorf("%s, %s, %s: effort %+v", c, q, name, e)
				}
				if c == video.H264 && x264References[e.preset] == 0 {
					t.Errorf("nobody knows how many frames x264 refers to with %s", e.preset)
				}
			}
			if effortOf(c, "", r) != effortOf(c, video.Balanced, r) {
				t.Errorf("%s: a plan without a quality is not balanced", c)
			}
		}
		if density[string(c)] == 0 || outputDensity[c] == 0 || sampleEntries[c] == "" {
			t.Errorf("%s has no density or no name in an MP4", c)
		}
	}
}
