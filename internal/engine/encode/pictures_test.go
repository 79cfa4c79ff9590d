package encode

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/mp4"
)

// rendition makes a file as Assemble does: the movie box first, a keyframe every two seconds.
func rendition(t *testing.T, name, pattern string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	enginetest.RunFFmpeg(t, "-f", "lavfi", "-i", pattern, "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p",
		"-force_key_frames", "expr:gte(t,n_forced*2)", "-g", "10000", "-sc_threshold", "0", "-movflags", "+faststart", path)
	return path
}

func TestPictures(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, pattern string
		cues          int
		last          string // the place of the last picture
		animated      bool
	}{
		{"a film", "testsrc2=s=426x240:r=10:d=26", 13, "storyboard-0.jpg#xywh=320,90,160,90", true},
		{"upright and short", "testsrc2=s=90x160:r=10:d=3", 2, "storyboard-0.jpg#xywh=90,0,90,160", true},
		{"one frame", "testsrc2=s=64x64:r=25:d=0.04", 1, "storyboard-0.jpg#xywh=0,0,64,64", false},
		{"very wide", "testsrc2=s=1200x60:r=5:d=3", 2, "storyboard-0.jpg#xywh=160,0,160,8", true},
	}
	enc := newEngine(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			job := enginetest.NewJob(t, rendition(t, "film.mp4", tt.pattern))
			made, err := enc.Pictures(t.Context(), job, func(float64) {})
			if err != nil || made.Storyboard == "" || made.Preview == "" || len(made.Sprites) != 1 {
				t.Fatalf("made %+v, %v", made, err)
			}
			vtt, preview := readFile(t, made.Storyboard), readFile(t, made.Preview)
			if n := strings.Count(vtt, "-->"); n != tt.cues || !strings.HasSuffix(vtt, tt.last+"\n") {
				t.Errorf("the storyboard has %d cues, want %d, the last at %s:\n%s", n, tt.cues, tt.last, vtt)
			}
			if got := strings.Contains(preview, "ANMF"); got != tt.animated || len(preview) > maxPreview {
				t.Errorf("the preview has %d bytes and is animated: %t", len(preview), got)
			}
			if _, err := jpeg.Decode(strings.NewReader(readFile(t, made.Sprites[0]))); err != nil {
				t.Errorf("the sprite: %v", err)
			}
		})
	}
}

// Noise is the worst that a preview can show.
func TestAPreviewIsNeverTooLarge(t *testing.T) {
	t.Parallel()
	enc := newEngine(t)
	job := enginetest.NewJob(t, rendition(t, "noise.mp4", "color=gray:s=480x480:r=8:d=3,noise=alls=100:allf=t"))
	made, err := enc.Pictures(t.Context(), job, func(float64) {})
	if err != nil {
		t.Fatal(err)
	}
	if made.Preview != "" && len(readFile(t, made.Preview)) > maxPreview {
		t.Errorf("the preview has %d bytes", len(readFile(t, made.Preview)))
	}
	if len(made.Sprites) == 0 {
		t.Error("there is no storyboard")
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A long film has no more pictures than others, on as many sprites as they take.
func TestTheStoryboardOfALongFilm(t *testing.T) {
	t.Parallel()
	m := pictureMaker{keys: mp4.Keyframes{Width: 1920, Height: 1080, End: 12 * time.Hour}}
	for at := time.Duration(0); at < m.keys.End; at += 2 * time.Second {
		m.keys.At = append(m.keys.At, at)
	}
	s := m.layOut()
	if len(s.at) != 200 || s.sheets() != 2 || s.width != 160 || s.height != 90 || s.columns*s.width > 1600 || s.rows*s.height > 900 {
		t.Errorf("%d pictures of %d × %d on %d sprites of %d × %d", len(s.at), s.width, s.height, s.sheets(), s.columns, s.rows)
	}
	const last = "\n11:56:24.000 --> 12:00:00.000\nstoryboard-1.jpg#xywh=1440,810,160,90\n"
	if vtt := s.webVTT(); !strings.HasSuffix(vtt, last) || strings.Count(vtt, "storyboard-0.jpg") != 100 {
		t.Errorf("the end is %q", vtt[len(vtt)-100:])
	}
	starts, length := m.pieces()
	if fmt.Sprint(starts) != "[1h12m0s 4h12m0s 7h12m0s 10h12m0s]" || length != 800*time.Millisecond {
		t.Errorf("the preview shows %s from %v", length, starts)
	}
}

func TestAFileThatIsNoPreview(t *testing.T) {
	t.Parallel()
	for name, content := range map[string][]byte{"empty": nil, "something": []byte("RIFF1234AVI 45678901234567890"), "large": bytes.Repeat([]byte("RIFF1234WEBP"), 1e5)} {
		path := filepath.Join(t.TempDir(), "p")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if fits, err := isPreview(path); fits || err != nil {
			t.Errorf("%s: %t, %v", name, fits, err)
		}
	}
	if fits, err := isPreview("/nonexistent"); fits || err != nil {
		t.Errorf("none: %t, %v", fits, err)
	}
}
