package encode

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// TestAVideoThatChangesItsSizeMidway joins two videos of different shapes. All
// frames are there, at their own times, whether the container has times or not,
// and the second video stands upright between black borders.
func TestAVideoThatChangesItsSizeMidway(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	for _, format := range []string{"h264", "ts"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			var film []byte
			for i, size := range []string{"320x180", "180x320"} {
				part := enginetest.Clip(t, "part."+format, "color=white:size="+size+":rate=25:duration=2", "-c:v", "libx264", "-g", "25", "-bf", "2",
					"-output_ts_offset", []string{"1", "3"}[i])
				b, err := os.ReadFile(part)
				if err != nil {
					t.Fatal(err)
				}
				film = append(film, b...)
			}
			path := filepath.Join(t.TempDir(), "video."+format)
			if err := os.WriteFile(path, film, 0o600); err != nil {
				t.Fatal(err)
			}
			job := enginetest.NewJob(t, path)
			plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
			if err != nil {
				t.Fatal(err)
			}
			times := encodeAll(t, tools, job, plan).times
			want := make([]float64, 100)
			for i := range want {
				want[i] = float64(i) / 25
			}
			sameTimes(t, since(times), want)
			checkBorders(t, chunkFilePath(job, 0))
		})
	}
}

// checkBorders wants a film of 256 x 144 pixels to be white first, and in its last second white between black
// borders: 80 pixels of its width show what stands upright.
func checkBorders(t *testing.T, film string) {
	t.Helper()
	for seek, want := range map[string]string{"1": "WWW", "3.5": "BWB"} {
		line, err := exec.Command("ffmpeg", "-nostdin", "-v", "error", "-ss", seek, "-i", film, "-frames:v", "1", "-vf", "crop=256:2:0:72", "-pix_fmt", "gray", "-f", "rawvideo", "-").Output()
		if err != nil || len(line) < 256 {
			t.Fatalf("read a line at %s s: %d bytes, %v", seek, len(line), err)
		}
		got := blackOrWhite(line, 40, 128, 216)
		if got != want {
			t.Errorf("at %s s the left, the middle and the right are %s; want %s", seek, got, want)
		}
	}
}

// blackOrWhite says what grey pixels are at these places.
func blackOrWhite(pixels []byte, at ...int) (found string) {
	for _, i := range at {
		if pixels[i] > 128 {
			found += "W"
		} else {
			found += "B"
		}
	}
	return found
}

// TestABroadcastThatBecomesWide joins two films with frames of the same size, of which the second ones are to
// be shown wider: 4:3, then 16:9. They are, between black borders above and below.
func TestABroadcastThatBecomesWide(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	var film []byte
	for i, shape := range []string{"4:3", "16:9"} {
		b, err := os.ReadFile(enginetest.Clip(t, "part.ts", "color=white:size=180x144:rate=25:duration=2", "-c:v", "mpeg2video", "-aspect", shape,
			"-output_ts_offset", []string{"1", "3"}[i]))
		if err != nil {
			t.Fatal(err)
		}
		film = append(film, b...)
	}
	path := filepath.Join(t.TempDir(), "video.ts")
	if err := os.WriteFile(path, film, 0o600); err != nil {
		t.Fatal(err)
	}
	job := enginetest.NewJob(t, path)
	plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
	if err != nil {
		t.Fatal(err)
	}
	encodeAll(t, tools, job, plan)
	for seek, want := range map[string]string{"1": "WWW", "3.5": "BWB"} {
		column, err := exec.Command("ffmpeg", "-nostdin", "-v", "error", "-ss", seek, "-i", chunkFilePath(job, 0), "-frames:v", "1", "-vf", "crop=2:144:96:0,scale=1:144", "-pix_fmt", "gray", "-f", "rawvideo", "-").Output()
		if err != nil || len(column) != 144 {
			t.Fatalf("read a column at %s s: %d bytes, %v", seek, len(column), err)
		}
		got := blackOrWhite(column, 9, 72, 135)
		if got != want {
			t.Errorf("at %s s the top, the middle and the bottom are %s; want %s", seek, got, want)
		}
	}
}
