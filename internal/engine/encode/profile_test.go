package encode

import (
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// slowProfile has another frame rate for each size.
var slowProfile = video.Profile{Name: "course", MaxFPS: 24, Sizes: map[video.Name]video.ProfileSize{"144p": {MaxFPS: 10}, "360p": {MaxFPS: 60}}}

// Sizes of different frame rates come from one decode. Each has the frames that the plan counts, and all have their
// keyframes at the same times, whatever the clock of the source.
func TestSizesOfDifferentFrameRates(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, file, pattern string }{
		{"a steady rate", "a.mp4", "r=50"},
		{"a rate of television, whose frames drift against the seconds", "b.mp4", "r=60000/1001"},
		{"times that are rounded to milliseconds", "c.mkv", "r=60"},
		{"a frame just before every even second", "d.mp4", "r=120,settb=1/90000,setpts=N*90000/120.03"},
		{"a rate that varies", "e.mp4", "r=60,select='gt(mod(n,7),1)+lt(random(0),0.4)'"},
		{"no times", "f.avi", "r=30"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			source := enginetest.Clip(t, tt.file, "testsrc2=s=360x360:d=7:"+tt.pattern, "-an", "-g", "47", "-bf", "2", "-fps_mode", "passthrough", "-video_track_timescale", "90000")
			job := enginetest.NewJob(t, source)
			tools := shortChunks(newEngine(t))
			p, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"360p", "240p", "144p"}, Profile: &slowProfile})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range p.Renditions[1:] {
				if r.Profile.MaxFPS == 0 {
					t.Fatalf("the plan leaves %+v at the rate of the source", r)
				}
			}
			checkSlowSizes(t, tools, job, p)
		})
	}
}

func checkSlowSizes(t *testing.T, tools *engine, job ffmpeg.Job, p *video.Plan) {
	t.Helper()
	var all [3]encoded
	for n, c := range p.Chunks {
		outputs, err := tools.EncodeChunk(t.Context(), job, p, n, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range outputs {
			all[i].add(t, o.Path)
			if want := c.FramesOf(p.Renditions[i]); want > 0 && o.Frames != want {
				t.Errorf("chunk %d has %d frames at %s; the plan counts %d", n, o.Frames, p.Renditions[i].Names, want)
			}
		}
	}
	for i, f := range all {
		sameTimes(t, f.keys, all[0].keys)
		for _, at := range f.times {
			if n, _ := slices.BinarySearch(all[0].times, at-0.0005); n == len(all[0].times) || all[0].times[n] > at+0.0005 {
				t.Fatalf("rendition %d shows a frame at %.6f, where the first has none", i, at)
			}
		}
		most := p.Renditions[i].Profile.MaxFPS
		for n := range f.times { // a keyframe may be one frame more
			if most > 0 && n >= most+2 && f.times[n]-f.times[n-most-2] < 0.95 {
				t.Fatalf("rendition %d has %d frames in %.3f s before %.3f", i, most+2, f.times[n]-f.times[n-most-2], f.times[n])
			}
		}
	}
}

// Variants have the frame rates of H.264, and keyframes at the same frames where the rate is steady.
func TestSlowSizesInOtherCodecs(t *testing.T) {
	t.Parallel()
	source := enginetest.Clip(t, "a.mp4", "testsrc2=s=240x240:d=7:r=50", "-an", "-g", "47", "-bf", "2")
	job := enginetest.NewJob(t, source)
	tools := shortChunks(newEngine(t))
	p, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"240p", "144p"}, Profile: &slowProfile})
	if err != nil {
		t.Fatal(err)
	}
	for _, codec := range video.ExtraCodecs {
		other := p.Beside(codec, []int{0, 1})
		var keys [2][]float64
		frames := 0
		for n, c := range other.Chunks {
			if c.Start >= c.End {
				continue
			}
			outputs, err := tools.EncodeChunk(t.Context(), job, other, n, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, o := range outputs {
				_, at := readFrames(t, o.Path)
				keys[i] = append(keys[i], at...)
			}
			frames += outputs[1].Frames
		}
		sameTimes(t, keys[0], []float64{0, 2, 4, 6})
		sameTimes(t, keys[1], keys[0])
		if frames != 70 {
			t.Errorf("144p has %d frames in %s; want 70, which are 10 a second", frames, codec)
		}
	}
}

func TestArgumentsOfAProfile(t *testing.T) {
	t.Parallel()
	p := basicPlan(func(p *video.Plan) {
		p.Preset, p.Input.FrameRate = "slow", 50
		p.Renditions[0].Profile.MaxBitrate = 3_000_000
		p.Renditions[1].Profile.CRF = 20.5
		p.Renditions[1].Profile.MaxFPS = 25
		p.Renditions[2].Profile.MaxFPS = 10
	})
	job := ffmpeg.Job{Source: "/task/in/source", OutDir: "/task/out"}
	enginetest.Golden(t, "chunk_with_a_profile", chunkArgs(job, p, 0, encoders[0], 2))
	for codec, want := range map[video.Codec]string{video.AV1: "libsvtav1 -preset 8 -crf 40", video.HEVC: "libx265 -tag:v hvc1 -preset fast -crf 27"} {
		p.Codec = codec
		args := strings.Join(chunkArgs(job, p, 0, encodersFor(codec, Software)[0], 2), " ")
		if !strings.Contains(args, want) || !strings.Contains(args, "-maxrate 2307k") {
			t.Errorf("%s is made by %s; want %s, and its own share of the cap", codec, args, want)
		}
	}
}
