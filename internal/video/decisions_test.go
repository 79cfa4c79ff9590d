package video_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/video"
)

var update = flag.Bool("update", false, "rewrite testdata")

// plainPlan is what a camera's film of a minute gives, asked for at two sizes.
func plainPlan() *video.Plan {
	return &video.Plan{
		Input: video.Input{
			Codec: "h264", PixelFormat: "yuv420p", Width: 1920, Height: 1080, CodedWidth: 1920, CodedHeight: 1080,
			TimeBase: video.Ratio{Num: 1, Den: 1000}, FrameRate: 25,
		},
		Duration:   time.Minute,
		Renditions: []video.Rendition{{Width: 1280, Height: 720, Names: []video.Name{"720p"}}, {Width: 426, Height: 240, Names: []video.Name{"240p"}}},
		Chunks:     []video.Chunk{{End: 20040}, {Start: 20040, End: 40080}, {Start: 40080, End: video.Forever}},
		Audio:      &video.Audio{Stream: 1, Channels: 2, Bitrate: 128_000},
	}
}

// TestDecisions holds the sentences against the ones that somebody has read.
func TestDecisions(t *testing.T) {
	t.Parallel()
	with := func(change func(p *video.Plan)) *video.Plan {
		p := plainPlan()
		change(p)
		return p
	}
	plans := map[string]*video.Plan{
		"plain": plainPlan(),
		"everything": with(func(p *video.Plan) {
			*p = *wholePlan()
			p.FirstPTS = 0
			p.Thumbnails = []video.Thumbnail{{Seconds: 0.1, PTS: 6006}, {Seconds: 1e9, PTS: 5_490_000}}
			p.Chunks = make([]video.Chunk, 40)
			for i := range p.Chunks {
				p.Chunks[i].Start = int64(i) * 1_801_800
			}
		}),
		"small": with(func(p *video.Plan) {
			p.Input.Width, p.Input.Height, p.Input.CodedWidth, p.Input.CodedHeight = 321, 181, 321, 181
			p.Input.FullRange, p.Input.PixelFormat, p.Input.FrameRate = true, "yuvj420p", 29.97002997
			p.Renditions = []video.Rendition{{Width: 320, Height: 180, Names: []video.Name{"720p", "240p"}}, {Width: 256, Height: 144, Names: []video.Name{"144p"}}}
			p.Chunks, p.Audio = p.Chunks[:1], &video.Audio{Stream: 2, Channels: 1, Bitrate: 96_000, Early: 1500 * time.Millisecond}
		}),
		"blown-up": with(func(p *video.Plan) {
			p.Input.Width, p.Input.Height, p.Input.CodedWidth, p.Input.CodedHeight = 426, 240, 320, 240
			p.Audio = nil
		}),
		"capped": with(func(p *video.Plan) {
			p.Input.Width, p.Input.Height, p.Input.CodedWidth, p.Input.CodedHeight = 320, 180, 320, 180
			p.Renditions = []video.Rendition{
				{Width: 1280, Height: 720, Names: []video.Name{"1080p", "720p"}, MaxResolution: "720p"},
				{Width: 480, Height: 270, Names: []video.Name{"480p", "360p"}, MaxUpscale: 1.5},
				{Width: 320, Height: 180, Names: []video.Name{"240p"}, MaxUpscale: 1},
				{Width: 256, Height: 144, Names: []video.Name{"144p"}, MaxResolution: "144p"}, // the name that was capped is gone
			}
		}),
	}
	for name, p := range plans {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			for _, d := range p.Decisions() {
				fmt.Fprintf(&text, "%s\n    %s\n", d.What, d.Why)
			}
			golden := filepath.Join("testdata", "decisions-"+name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if text.String() != string(want) {
				t.Errorf("decisions are\n%s\nwant those of %s (after reading them, run go test ./internal/video -update)\n%s", text.String(), golden, want)
			}
		})
	}
}

func TestDecisionsAreSentences(t *testing.T) {
	t.Parallel()
	for _, p := range []*video.Plan{plainPlan(), wholePlan(), {Chunks: make([]video.Chunk, 1), Input: video.Input{TimeBase: video.Ratio{Num: 1, Den: 1}}}} {
		for _, d := range p.Decisions() {
			for _, s := range []string{d.What, d.Why} {
				if !strings.HasSuffix(s, ".") || strings.Contains(s, "%!") || strings.Contains(s, "  ") {
					t.Errorf("%q is not a sentence", s)
				}
			}
		}
	}
}
