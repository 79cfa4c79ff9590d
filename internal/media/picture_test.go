package media

import (
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"os/exec"
	"testing"

	"github.com/spool-video/spool/internal/video"
)

func readJPEG(t *testing.T, path string) image.Image {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := jpeg.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// TestThumbnailIsTheVeryFrame compares a thumbnail with the frame that is on
// the screen at its time and with the two beside it.
func TestThumbnailIsTheVeryFrame(t *testing.T) {
	t.Parallel()
	tools := newTools(t)
	// Every frame has a brightness of its own: frame n is as bright as 3n.
	const steps = "nullsrc=s=64x64:r=25:d=3,geq=lum='16+mod(3*N,219)':cb=128:cr=128"
	tests := []struct {
		name, file string
		args       []string
	}{
		{"after a closed group", "a.mp4", []string{"-g", "10"}},
		{"after an open group", "a.mkv", []string{"-x264-params", "keyint=10:open-gop=1:bframes=3:scenecut=0"}},
		{"in a transport stream", "a.ts", []string{"-g", "10"}},
		{"in a container without times", "a.avi", []string{"-c:v", "mpeg4", "-bf", "0", "-g", "10", "-q:v", "1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			job := newJob(t, clip(t, tt.file, steps, append([]string{"-an", "-qp", "4", "-pix_fmt", "yuv420p"}, tt.args...)...))
			plan, err := tools.Inspect(t.Context(), job, Ask{Names: []video.Name{"144p"}, Thumbnails: []float64{0, 1.01, 1.98, 99}})
			if err != nil {
				t.Fatal(err)
			}
			outputs, err := tools.Thumbnails(t.Context(), job, plan, nil)
			if err != nil || len(outputs) != 4 {
				t.Fatalf("Thumbnails = %v, %v; want 4", outputs, err)
			}
			for i, frame := range []int{0, 25, 49, 74} {
				gray := color.GrayModel.Convert(readJPEG(t, outputs[i].Path).At(32, 32)).(color.Gray).Y
				// A JPEG stretches the 219 steps of television to 255.
				if want := (3*frame%219*255 + 109) / 219; int(gray) < want-1 || int(gray) > want+1 {
					t.Errorf("at %v s the picture is %d bright; frame %d is %d", plan.Thumbnails[i].Seconds, gray, frame, want)
				}
			}
		})
	}
}

// TestColoursSurvive sends one colour through every way of storing it and looks
// at the film and at the thumbnail.
func TestColoursSurvive(t *testing.T) {
	t.Parallel()
	tools := newTools(t)
	want := color.RGBA{R: 0xc8, G: 0x50, B: 0x28, A: 0xff}
	tests := []struct {
		name, size string
		args       []string
	}{
		{"HD", "1280x720", []string{"-vf", "scale=out_color_matrix=bt709,format=yuv420p", "-colorspace", "bt709"}},
		{"HD that does not say so", "1280x720", []string{"-vf", "scale=out_color_matrix=bt709,format=yuv420p"}},
		{"SD", "320x240", []string{"-vf", "scale=out_color_matrix=bt601,format=yuv420p", "-colorspace", "smpte170m"}},
		{"SD that does not say so", "320x240", []string{"-vf", "scale=out_color_matrix=bt601,format=yuv420p"}},
		{"full range", "320x240", []string{"-vf", "scale=out_color_matrix=bt709:out_range=pc,format=yuvj420p", "-colorspace", "bt709", "-color_range", "pc"}},
		{"RGB", "320x240", []string{"-pix_fmt", "bgr0", "-c:v", "ffv1"}},
		{"BT.2020 without HDR", "320x240", []string{"-vf", "scale=out_color_matrix=bt2020,format=yuv420p10le", "-c:v", "ffv1", "-colorspace", "bt2020nc"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			source := clip(t, "a.mkv", "color=c=0xc85028:s="+tt.size+":r=5:d=0.4,format=gbrp", append([]string{"-an"}, tt.args...)...)
			job := newJob(t, source)
			plan, err := tools.Inspect(t.Context(), job, Ask{Names: []video.Name{"144p"}, Thumbnails: []float64{0}})
			if err != nil {
				t.Fatal(err)
			}
			outputs, err := tools.Thumbnails(t.Context(), job, plan, nil)
			if err != nil || len(outputs) != 1 {
				t.Fatalf("Thumbnails = %v, %v", outputs, err)
			}
			sameColour(t, "thumbnail", color.RGBAModel.Convert(readJPEG(t, outputs[0].Path).At(9, 9)).(color.RGBA), want)
			pieces, err := tools.EncodeChunk(t.Context(), job, plan, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			sameColour(t, "film", firstPixel(t, pieces[0].Path), want)
		})
	}
}

func sameColour(t *testing.T, what string, got, want color.RGBA) {
	t.Helper()
	off := func(a, b uint8) int { return max(int(a)-int(b), int(b)-int(a)) }
	if max(off(got.R, want.R), off(got.G, want.G), off(got.B, want.B)) > 5 {
		t.Errorf("the %s shows %v; want %v", what, got, want)
	}
}

// firstPixel decodes a piece by what its own tags say.
func firstPixel(t *testing.T, path string) color.RGBA {
	t.Helper()
	matrix := probeFile(t, path, "v:0").Streams[0].Matrix
	if matrix == "smpte170m" {
		matrix = "bt601"
	}
	raw, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-nostdin", "-i", path, "-frames:v", "1",
		"-vf", fmt.Sprintf("scale=in_color_matrix=%s,format=rgb24", matrix), "-f", "rawvideo", "-").Output()
	if err != nil || len(raw) < 3 {
		t.Fatalf("decode: %v, %d bytes", err, len(raw))
	}
	return color.RGBA{R: raw[0], G: raw[1], B: raw[2], A: 0xff}
}
