package encode

import (
	"slices"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// TestFastVideosKeepExactTimes compares what ffmpeg lets pass with the plan.
func TestFastVideosKeepExactTimes(t *testing.T) {
	t.Parallel()
	tools := shortChunks(newEngine(t))
	for _, rate := range []string{"120", "240", "75", "60000/997"} {
		t.Run(rate, func(t *testing.T) {
			t.Parallel()
			leaveToLong(t, rate, "120", "240", "75")
			source := enginetest.Clip(t, "a.mp4", "testsrc2=s=64x64:d=5:r="+rate, "-an", "-g", "60", "-bf", "2")
			one, _ := encodeClip(t, newEngine(t), source)
			many, job := encodeClip(t, tools, source)
			plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
			if err != nil {
				t.Fatal(err)
			}
			expected := 0
			for _, c := range plan.Chunks {
				expected += c.Frames
			}
			if many.pieces < 2 || len(many.times) != expected || float64(expected) > 60*5+1 {
				t.Errorf("%d chunk files with %d frames; want several with %d, and no more than 301", many.pieces, len(many.times), expected)
			}
			sameTimes(t, many.times, one.times)
			from := since(probeFile(t, source, "v:0").times(t))
			for _, s := range many.times {
				if i, _ := slices.BinarySearch(from, s-0.0005); i == len(from) || from[i] > s+0.0005 {
					t.Fatalf("a frame is shown at %.6f, where the source has none", s)
				}
			}
		})
	}
}

// TestFastVideosHaveTheSameFramesInEveryCodec encodes a clip that has a frame just before every even
// second: chunks in AV1 begin there, and must keep that frame and not the next one.
func TestFastVideosHaveTheSameFramesInEveryCodec(t *testing.T) {
	t.Parallel()
	tools := shortChunks(newEngine(t))
	job := enginetest.NewJob(t, enginetest.Clip(t, "a.mp4", "testsrc2=s=160x90:d=5:r=120,settb=1/90000,setpts=N*90000/120.03", "-an", "-g", "60", "-bf", "2",
		"-fps_mode", "passthrough", "-enc_time_base", "1:90000", "-video_track_timescale", "90000"))
	p, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
	if err != nil {
		t.Fatal(err)
	}
	want, got := 0, 0
	for _, c := range p.Chunks {
		want += c.Frames
	}
	other := p.Beside(video.AV1, []int{0})
	for n, c := range other.Chunks {
		if c.Start >= c.End {
			continue
		}
		outputs, err := tools.EncodeChunk(t.Context(), job, other, n, nil)
		if err != nil {
			t.Fatal(err)
		}
		got += framesOf(outputs)
	}
	if len(p.Chunks) < 2 || p.LimitRate == 0 || got != want {
		t.Errorf("%d chunks have %d frames in AV1; want several, a limit and %d frames", len(p.Chunks), got, want)
	}
}
