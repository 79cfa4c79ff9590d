package e2e

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"net/http"
	"testing"
)

func TestThumbnailsShowTheRightFrame(t *testing.T) {
	oneBackend(t, "the same engine reads and writes local files there")
	t.Parallel()
	s := shared(t)
	source := clip(t, tinyClip) // 50 frames, one every 40 ms
	stills := []struct {
		second float64
		frame  int
	}{{1, 25}, {0, 0}, {0.5, 12}, {1.99, 49}, {999, 49}}
	ask := newVideo{Filename: "a.mp4", Resolutions: []string{"360p", "144p"}}
	for _, still := range stills {
		ask.Thumbnails = append(ask.Thumbnails, still.second)
	}
	w := s.publish(ask, source)
	for name, r := range w.Resolutions {
		if len(r.ThumbnailImageURLs) != len(stills) {
			t.Fatalf("%s has %d thumbnails, want %d", name, len(r.ThumbnailImageURLs), len(stills))
		}
		for i, still := range stills {
			if i > 0 && name != ask.Resolutions[0] {
				break // the others are made of the same frames
			}
			t.Run(fmt.Sprintf("%s at %v s", name, still.second), func(t *testing.T) {
				checkStill(t, s.in(t).getReady(r.ThumbnailImageURLs[i]), frameSize{r.Width, r.Height}, source, still.frame)
			})
		}
	}
}

// checkStill wants a JPEG that shows this very frame of the source: no neighbour
// may be more like it.
func checkStill(t testing.TB, r reply, want frameSize, source string, frame int) {
	t.Helper()
	if r.status != http.StatusOK || r.header.Get("Content-Type") != "image/jpeg" {
		t.Fatalf("thumbnail answers %d %v, want image/jpeg", r.status, r.header)
	}
	c, err := jpeg.DecodeConfig(bytes.NewReader(r.body))
	if err != nil || (frameSize{c.Width, c.Height}) != want {
		t.Fatalf("the JPEG has %dx%d (%v), want %v", c.Width, c.Height, err, want)
	}
	file := save(t, "still.jpg", r.body)
	alike := map[int]float64{}
	for n := max(0, frame-1); n <= min(49, frame+1); n++ {
		pick := fmt.Sprintf("select=eq(n\\,%d),scale=%d:%d:flags=bicubic:out_range=tv,format=yuv420p", n, want.width, want.height)
		alike[n] = similarity(t, file, "scale=in_range=pc:out_range=tv,format=yuv420p", source, pick)
	}
	for n, a := range alike {
		if a > alike[frame] {
			t.Errorf("the picture is more like frame %d (%.3f) than like %d (%.3f)", n, a, frame, alike[frame])
		}
	}
	if alike[frame] < leastAlike {
		t.Errorf("the picture is %.3f like frame %d, want %.2f", alike[frame], frame, leastAlike)
	}
}
