package encode

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// writeWatermark writes a picture of one colour where the encoder looks for it.
func writeWatermark(t *testing.T, dir string, c color.NRGBA) {
	t.Helper()
	picture := image.NewNRGBA(image.Rect(0, 0, 40, 20))
	for i := range 40 * 20 {
		picture.SetNRGBA(i%40, i/40, c)
	}
	f, err := os.Create(filepath.Join(dir, WatermarkFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := png.Encode(f, picture); err != nil {
		t.Fatal(err)
	}
}

// TestAWatermarkIsOnEveryFrame encodes a grey film of several forms with a half transparent red mark at the bottom
// right, and looks at all frames.
func TestAWatermarkIsOnEveryFrame(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	const grey = "color=c=0x808080:s=320x180:r=25:d=1.2"
	tests := []struct {
		name, file string
		args       []string
	}{
		{"MP4", "a.mp4", []string{"-g", "10"}},
		{"a transport stream", "a.ts", []string{"-g", "10"}},
		{"a container without times", "a.avi", []string{"-c:v", "mpeg4", "-bf", "2", "-g", "10", "-q:v", "1"}},
		{"a raw stream", "a.h264", []string{"-bf", "2", "-g", "10"}},
		{"RGB", "a.mkv", []string{"-c:v", "ffv1", "-pix_fmt", "bgr0"}},
	}
	var clips outputs
	for _, tt := range tests {
		clips.add(tt.name, tt.file, append([]string{"-an"}, tt.args...)...)
	}
	paths := enginetest.Clips(t, grey, clips.all...)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			job := enginetest.NewJob(t, clips.of(t, paths, tt.name))
			writeWatermark(t, job.OutDir, color.NRGBA{R: 255, A: 255})
			p, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"240p", "144p"}, Thumbnails: []float64{0, 0.9}})
			if err != nil {
				t.Fatal(err)
			}
			p.Watermark = &video.Watermark{Position: "bottom-right", Width: 0.25, Margin: 0.1, Opacity: 0.5, Aspect: 2}
			mark, bare := color.RGBA{R: 0xc0, G: 0x40, B: 0x40, A: 255}, color.RGBA{R: 0x80, G: 0x80, B: 0x80, A: 255}
			pieces, err := tools.EncodeChunk(t.Context(), job, p, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, piece := range pieces {
				r := p.Renditions[piece.Rendition]
				for i, frame := range allFrames(t, piece.Path, r) {
					sameColour(t, fmt.Sprintf("mark in frame %d of %dp", i, r.Height), frame.At(r.Width*77/100, r.Height*76/100), mark)
					sameColour(t, fmt.Sprintf("margin of frame %d of %dp", i, r.Height), frame.At(r.Width*95/100, r.Height*76/100), bare)
				}
			}
			stills, err := tools.Thumbnails(t.Context(), job, p, nil)
			if err != nil || len(stills) != 2*len(p.Renditions) {
				t.Fatalf("Thumbnails = %v, %v", stills, err)
			}
			for _, s := range stills {
				r := p.Renditions[s.Rendition]
				sameColour(t, "mark in a thumbnail", readJPEG(t, s.Path).At(r.Width*77/100, r.Height*76/100), mark)
			}
		})
	}
}

// allFrames decodes all frames of a chunk file, which has 20 at least.
func allFrames(t *testing.T, path string, r video.Rendition) []image.Image {
	t.Helper()
	raw, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-nostdin", "-i", path, "-fps_mode", "passthrough",
		"-vf", "format=rgba", "-f", "rawvideo", "-").Output()
	size := 4 * r.Width * r.Height
	if err != nil || len(raw) < 20*size {
		t.Fatalf("decode: %v, %d bytes", err, len(raw))
	}
	var all []image.Image
	for ; len(raw) >= size; raw = raw[size:] {
		all = append(all, &image.RGBA{Pix: raw[:size], Stride: 4 * r.Width, Rect: image.Rect(0, 0, r.Width, r.Height)})
	}
	return all
}
