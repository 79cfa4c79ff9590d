package encode

import (
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/engine/plan"
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
		{"tiny", 16, 8, 25, plan.MinBitrate},
		{"larger than the table", 8192, 4500, 25, 133_333},
	}
	for _, tt := range tests {
		if got := plan.MaxBitrate(video.Rendition{Width: tt.w, Height: tt.h}, tt.rate); got != tt.want {
			t.Errorf("%s: maxBitrate = %d kbit/s; want %d", tt.name, got, tt.want)
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
		if generation[string(c)] == 0 || sampleEntries[c] == "" {
			t.Errorf("%s has no generation or no name in an MP4", c)
		}
	}
}

// The plan has the CRF of every codec, so that all chunks have the same, whatever the tables say later. Plans of
// earlier versions have one of their own, or none.
func TestThePlanHasTheCRF(t *testing.T) {
	t.Parallel()
	enc := &Encoder{encoder: encoders[0]}
	p := basicPlan(nil)
	for i := range p.Renditions {
		p.Renditions[i].CRF = nil
	}
	before := settingsFor(p, p.Renditions[0], 0, 1).effort.crf
	enc.SetRates(p)
	for _, c := range append([]video.Codec{video.H264}, video.ExtraCodecs...) {
		for _, r := range p.Renditions {
			if want := effortOf(c, p.Quality, r).crf; r.CRF[c] != want {
				t.Errorf("%s of %d lines has CRF %g in the plan; want %g", c, r.Height, r.CRF[c], want)
			}
		}
	}
	p.Renditions[0].CRF[video.H264] = 29.5
	if got := settingsFor(p, p.Renditions[0], 0, 1).effort.crf; got != 29.5 || before == 0 {
		t.Errorf("a chunk is encoded with CRF %g, and %g without one in its plan; want 29.5 as in the plan, and the usual one", got, before)
	}
	hardware := basicPlan(nil)
	(&Encoder{encoder: encoderNamed(t, "h264_nvenc")}).SetRates(hardware)
	if crf := hardware.Renditions[0].CRF; crf != nil {
		t.Errorf("hardware has CRF %v", crf)
	}
}
