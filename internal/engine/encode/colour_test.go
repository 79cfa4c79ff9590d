package encode

import (
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"os/exec"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
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
	tools := newEngine(t)
	// Every frame has a brightness of its own: frame n is as bright as 3n.
	const steps = "nullsrc=s=64x64:r=25:d=3,geq=lum='16+mod(3*N,219)':cb=128:cr=128"
	tests := []struct {
		name, file string
		args       []string
	}{
		{"after a closed group", "a.mp4", []string{"-g", "10"}},
		{"after an open group", "a.mkv", []string{"-x264-params", "keyint=10:open-gop=1:bframes=3:scenecut=0"}},
		{"in a transport stream", "a.ts", []string{"-g", "10"}},
		{"in a transport stream of television", "a.ts", []string{"-c:v", "mpeg2video", "-bf", "2", "-g", "10", "-q:v", "1"}},
		{"in a container without times", "a.avi", []string{"-c:v", "mpeg4", "-bf", "0", "-g", "10", "-q:v", "1"}},
		{"in a container without times, with B-frames", "a.avi", []string{"-c:v", "mpeg4", "-bf", "2", "-g", "10", "-q:v", "1"}},
		{"in a container without times, only keyframes", "a.avi", []string{"-c:v", "mjpeg", "-q:v", "1", "-pix_fmt", "yuvj420p"}},
		{"in a program stream", "a.mpg", []string{"-c:v", "mpeg2video", "-bf", "2", "-g", "10", "-q:v", "1"}},
		{"in Flash video", "a.flv", []string{"-c:v", "libx264", "-bf", "2", "-g", "10"}},
		{"in Windows Media", "a.wmv", []string{"-c:v", "wmv2", "-g", "10", "-q:v", "1"}},
		{"in Ogg", "a.ogv", []string{"-c:v", "libtheora", "-g", "10", "-q:v", "10"}},
		{"in MXF", "a.mxf", []string{"-c:v", "mpeg2video", "-bf", "2", "-g", "10", "-q:v", "1"}},
		{"in a raw stream", "a.h264", []string{"-bf", "2", "-g", "10"}},
		{"in a fragmented MP4", "a.mp4", []string{"-g", "10", "-movflags", "frag_keyframe+empty_moov"}},
		{"where nothing says that frames are interlaced", "a.avi", []string{"-c:v", "mpeg4", "-bf", "0", "-g", "10", "-q:v", "1", "-flags", "+ildct+ilme"}},
	}
	clips := outputs{rare: []string{"after a closed group", "in a container without times, only keyframes"}}
	for _, tt := range tests {
		clips.add(tt.name, tt.file, append([]string{"-an", "-qp", "4", "-pix_fmt", "yuv420p"}, tt.args...)...)
	}
	paths := enginetest.Clips(t, steps, clips.all...)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			job := enginetest.NewJob(t, clips.of(t, paths, tt.name))
			plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}, Thumbnails: []float64{0, 1.01, 1.98, 99}})
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
					t.Errorf("at %v s the frame is %d bright; frame %d is %d", plan.Thumbnails[i].Seconds, gray, frame, want)
				}
			}
		})
	}
}

// TestColoursSurvive sends one colour through every way of storing it and looks
// at the video and at the thumbnail.
func TestColoursSurvive(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
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
		{"BT.2020 with its primaries", "320x240", []string{"-vf", "zscale=min=gbr:pin=bt709:tin=bt709:rin=full:p=bt2020:t=bt709:m=bt2020nc:r=limited,format=yuv420p10le", "-c:v", "ffv1", "-colorspace", "bt2020nc", "-color_primaries", "bt2020", "-color_trc", "bt2020-10"}},
		{"P3, as phones have it", "320x240", []string{"-vf", "zscale=min=gbr:pin=bt709:tin=bt709:rin=full:p=smpte432:t=bt709:m=bt709:r=limited,format=yuv420p10le", "-c:v", "ffv1", "-colorspace", "bt709", "-color_primaries", "smpte432", "-color_trc", "bt709"}},
		{"BT.2020 without HDR", "320x240", []string{"-vf", "scale=out_color_matrix=bt2020,format=yuv420p10le", "-c:v", "ffv1", "-colorspace", "bt2020nc"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			leaveToLong(t, tt.name, "HD", "P3, as phones have it")
			source := enginetest.Clip(t, "a.mkv", "color=c=0xc85028:s="+tt.size+":r=5:d=0.4,format=gbrp", append([]string{"-an"}, tt.args...)...)
			job := enginetest.NewJob(t, source)
			plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}, Thumbnails: []float64{0}})
			if err != nil {
				t.Fatal(err)
			}
			thumbnail, film := firstFrames(t, tools, job, plan)
			sameColour(t, "thumbnail", thumbnail.At(9, 9), want)
			sameColour(t, "video", film.At(0, 0), want)
		})
	}
}

// TestGreysOfHDR sends greys through the curves of HDR, side by side. A page's white is 203 in
// PQ and three quarters of the signal in HLG.
func TestGreysOfHDR(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	type grey struct {
		name string
		luma int // of ten bits, limited range
		want uint8
	}
	for transfer, greys := range map[string][]grey{
		"smpte2084":    {{"black", 64, 0}, {"white of a page", 573, 193}, {"a lamp", 723, 255}, {"brighter than any screen", 940, 255}},
		"arib-std-b67": {{"half", 502, 124}, {"white of a page", 721, 193}},
	} {
		t.Run(transfer, func(t *testing.T) {
			t.Parallel()
			const wide = 64 // each of them
			luma := "0"
			for i, g := range greys {
				luma += fmt.Sprintf("+%d*between(X,%d,%d)", g.luma, i*wide, i*wide+wide-1)
			}
			job := enginetest.NewJob(t, enginetest.Clip(t, "a.mkv", fmt.Sprintf("nullsrc=s=%dx64:r=5:d=0.4,format=yuv420p10le,geq=lum='%s':cb=512:cr=512", wide*len(greys), luma), "-an", "-c:v", "ffv1",
				"-color_trc", transfer, "-colorspace", "bt2020nc", "-color_primaries", "bt2020"))
			plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}, Thumbnails: []float64{0}})
			if err != nil {
				t.Fatal(err)
			}
			thumbnail, film := firstFrames(t, tools, job, plan)
			for i, g := range greys {
				x, want := i*wide+wide/2, color.RGBA{R: g.want, G: g.want, B: g.want, A: 0xff}
				sameColour(t, "thumbnail of "+g.name, thumbnail.At(x, 32), want)
				sameColour(t, "video of "+g.name, film.At(x, 32), want)
			}
		})
	}
}

// firstFrames returns the first thumbnail of a video, and its first frame as its own tags say how to decode it.
func firstFrames(t *testing.T, tools *engine, job ffmpeg.Job, plan *video.Plan) (thumbnail, film image.Image) {
	t.Helper()
	outputs, err := tools.Thumbnails(t.Context(), job, plan, nil)
	if err != nil || len(outputs) != 1 {
		t.Fatalf("Thumbnails = %v, %v", outputs, err)
	}
	pieces, err := tools.EncodeChunk(t.Context(), job, plan, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return readJPEG(t, outputs[0].Path), firstFrame(t, pieces[0].Path)
}

func sameColour(t *testing.T, what string, shown, want color.Color) {
	t.Helper()
	a, b := color.RGBAModel.Convert(shown).(color.RGBA), color.RGBAModel.Convert(want).(color.RGBA)
	off := func(a, b uint8) int { return max(int(a)-int(b), int(b)-int(a)) }
	if max(off(a.R, b.R), off(a.G, b.G), off(a.B, b.B)) > 5 {
		t.Errorf("the %s shows %v; want %v", what, a, b)
	}
}

// firstFrame decodes the first frame of a chunk file by what its own tags say.
func firstFrame(t *testing.T, path string) image.Image {
	t.Helper()
	s := probeFile(t, path, "v:0").Streams[0]
	matrix := s.Matrix
	if matrix == "smpte170m" {
		matrix = "bt601"
	}
	raw, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-nostdin", "-i", path, "-frames:v", "1",
		"-vf", fmt.Sprintf("scale=in_color_matrix=%s,format=rgba", matrix), "-f", "rawvideo", "-").Output()
	if err != nil || len(raw) != 4*s.Width*s.Height {
		t.Fatalf("decode: %v, %d bytes", err, len(raw))
	}
	return &image.RGBA{Pix: raw, Stride: 4 * s.Width, Rect: image.Rect(0, 0, s.Width, s.Height)}
}
