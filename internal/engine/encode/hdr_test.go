package encode

import (
	"image"
	"math"
	"os/exec"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/test/footage"
)

// meanColour is the mean colour of a frame, from 0 to 255.
func meanColour(img image.Image) [3]float64 {
	var sum [3]float64
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			r, g, bl, _ := img.At(x, y).RGBA()
			sum[0], sum[1], sum[2] = sum[0]+float64(r>>8), sum[1]+float64(g>>8), sum[2]+float64(bl>>8)
		}
	}
	for i := range sum {
		sum[i] /= float64(b.Dx() * b.Dy())
	}
	return sum
}

// thumbnailOf makes a thumbnail of a video of the collection.
func thumbnailOf(t *testing.T, tools *engine, name string) [3]float64 {
	t.Helper()
	job := enginetest.NewJob(t, footage.Path(t, "variety/"+name))
	plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"240p"}, Thumbnails: []float64{1}})
	if err != nil {
		t.Fatal(err)
	}
	outputs, err := tools.Thumbnails(t.Context(), job, plan, nil)
	if err != nil || len(outputs) != 1 {
		t.Fatalf("Thumbnails = %v, %v", outputs, err)
	}
	return meanColour(readJPEG(t, outputs[0].Path))
}

// TestDolbyVisionIsInTheRightColours compares the same video in Dolby Vision with
// and without an ordinary frame underneath.
func TestDolbyVisionIsInTheRightColours(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	only, beside := thumbnailOf(t, tools, "dovi_p5_hevc.mp4"), thumbnailOf(t, tools, "dovi_p10_av1.mp4")
	for i := range only {
		if math.Abs(only[i]-beside[i]) > 4 {
			t.Fatalf("profile 5 is %.1f on average, profile 10 of the same video %.1f", only, beside)
		}
	}
}

// TestHLGLooksAsItDoesOnOldScreens makes use of what HLG was made for: shown as
// if it were no HDR, it is right but for the colours being pale.
func TestHLGLooksAsItDoesOnOldScreens(t *testing.T) {
	t.Parallel()
	const film = "iphone12mini_dv84_hlg_rot90.mov"
	got := thumbnailOf(t, newEngine(t), film)
	raw, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-nostdin", "-ss", "1", "-i", footage.Path(t, "variety/"+film), "-frames:v", "1",
		"-vf", "scale=1:1:flags=area:in_color_matrix=bt2020,format=rgb24", "-f", "rawvideo", "-").Output()
	if err != nil || len(raw) != 3 {
		t.Fatalf("decode: %v, %d bytes", err, len(raw))
	}
	old := [3]float64{float64(raw[0]), float64(raw[1]), float64(raw[2])}
	if a, b := luma(got), luma(old); math.Abs(a-b) > 12 {
		t.Errorf("the video is %.1f bright; an old screen would show %.1f", a, b)
	}
	if spread(got) <= spread(old) {
		t.Errorf("the colours are %.1f; want more colourful than %.1f", got, old)
	}
}

func luma(c [3]float64) float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] }

func spread(c [3]float64) float64 { return max(c[0], c[1], c[2]) - min(c[0], c[1], c[2]) }
