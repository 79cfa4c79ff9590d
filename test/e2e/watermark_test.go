package e2e

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"
)

// logo is a red PNG, twice as wide as high.
var logo = func() string {
	p := image.NewNRGBA(image.Rect(0, 0, 8, 4))
	draw.Draw(p, p.Bounds(), image.NewUniform(color.NRGBA{R: 255, A: 255}), image.Point{}, draw.Src)
	var file bytes.Buffer
	if err := png.Encode(&file, p); err != nil {
		panic(err)
	}
	return file.String()
}()

// TestWatermark lays a red picture over a grey film, and looks at everything that people see of it.
func TestWatermark(t *testing.T) {
	t.Parallel()
	s := shared(t)
	mark := decode[struct{ ID, Name string }](t, s.call("POST", "/api/watermark?name=Logo", logo, header{"Content-Type", "image/png"}), http.StatusCreated)
	if mark.Name != "Logo" {
		t.Errorf("the watermark is %+v", mark)
	}
	film := filepath.Join(t.TempDir(), "grey.mp4")
	if err := runFFmpeg("-f", "lavfi", "-i", "color=c=0x808080:s=320x180:r=10:d=2", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", film); err != nil {
		t.Fatal(err)
	}
	s.call("POST", "/api/video", map[string]any{"filename": "a.mp4", "resolutions": []string{"144p"}, "isPublic": true,
		"watermark": map[string]any{"id": mark.ID, "position": "middle"}}).problem(t, http.StatusBadRequest, "invalid_request")
	u := decode[upload](t, s.call("POST", "/api/video", map[string]any{
		"filename": "a.mp4", "resolutions": []string{"144p"}, "isPublic": true, "thumbnailTimestampsSeconds": []float64{1},
		"watermark": map[string]any{"id": mark.ID, "position": "top-left", "width": 0.5, "margin": 0},
	}), http.StatusCreated)
	s.put(u, film)
	s.complete(u.ID)
	w := s.waitReady(u)
	small := w.Resolutions["144p"]
	for name, url := range map[string]string{"poster": w.PosterURL, "thumbnail": small.ThumbnailImageURLs[0]} {
		picture, err := jpeg.Decode(bytes.NewReader(s.getReady(url).body))
		if err != nil {
			t.Fatal(err)
		}
		wantMark(t, name, picture)
	}
	wantMark(t, "144p", lastFrame(t, small.VideoURL, 256, 144))

	// It stays on the video when it is deleted, also on what is made later.
	if r := s.call("DELETE", "/api/watermark/"+mark.ID, nil); r.status != http.StatusOK {
		t.Fatalf("deleting it answers %d %s", r.status, r.body)
	}
	s.call("POST", "/api/video", map[string]any{"filename": "a.mp4", "resolutions": []string{"144p"}, "isPublic": true,
		"watermark": map[string]any{"id": mark.ID}}).problem(t, http.StatusBadRequest, "invalid_request")
	if r := s.call("POST", "/api/video/"+u.ID+"/resolutions", map[string]string{"resolution": "240p"}); r.status != http.StatusCreated {
		t.Fatalf("adding a resolution answers %d %s", r.status, r.body)
	}
	w = s.waitReady(u)
	wantMark(t, "240p", lastFrame(t, w.Resolutions["240p"].VideoURL, 320, 180))
}

// wantMark wants the left upper quarter of a picture to be red, and the rest grey.
func wantMark(t *testing.T, name string, p image.Image) {
	t.Helper()
	b := p.Bounds()
	red := color.RGBAModel.Convert(p.At(b.Dx()/4, b.Dy()/4)).(color.RGBA)
	grey := color.RGBAModel.Convert(p.At(b.Dx()*3/4, b.Dy()*3/4)).(color.RGBA)
	if red.R < 0xe0 || red.G > 0x20 || grey.R < 0x78 || grey.R > 0x88 || grey.G < 0x78 || grey.G > 0x88 {
		t.Errorf("the %s shows %v and %v; want red and grey", name, red, grey)
	}
}

// lastFrame decodes the last frame of a film of this size.
func lastFrame(t *testing.T, url string, width, height int) image.Image {
	t.Helper()
	raw, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-nostdin", "-i", url, "-vf", "format=rgba", "-f", "rawvideo", "-").Output()
	size := 4 * width * height
	if err != nil || len(raw) != 20*size {
		t.Fatalf("decode %s: %v, %d bytes", url, err, len(raw))
	}
	return &image.RGBA{Pix: raw[19*size:], Stride: 4 * width, Rect: image.Rect(0, 0, width, height)}
}
