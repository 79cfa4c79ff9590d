package encode

import (
	"image"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// painted is a frame whose pixels are what paint says.
func painted(paint func(x, y int) float64) brightness {
	p := image.NewYCbCr(image.Rect(0, 0, 320, 180), image.YCbCrSubsampleRatio420)
	for y := range 180 {
		for x := range 320 {
			p.Y[y*p.YStride+x] = uint8(min(max(paint(x, y), 0), 255))
		}
	}
	return newBrightness(p)
}

// tiles are a picture with detail of several sizes. Its edges are as sharp as soft is small.
func tiles(soft float64) func(x, y int) float64 {
	wave := func(v, size int) float64 { return math.Tanh(math.Sin(2*math.Pi*float64(v)/float64(size)) / soft) }
	return func(x, y int) float64 { return 120 + 40*wave(x, 64)*wave(y, 48) + 25*wave(x+y, 40) }
}

func TestTheScoreOfAFrame(t *testing.T) {
	t.Parallel()
	noise := rand.New(rand.NewPCG(1, 2))
	sharp := tiles(0.05)
	level := func(by, times float64) func(x, y int) float64 {
		return func(x, y int) float64 { return by + times*sharp(x, y) }
	}
	plain := func(to float64) func(x, y int) float64 { return func(int, int) float64 { return to } }
	tests := []struct {
		name        string
		frame, next func(x, y int) float64
		from, to    float64
	}{
		{"a sharp picture", sharp, sharp, 0.9, 1},
		{"one with little contrast", level(60, 0.4), level(60, 0.4), 0.2, 0.7},
		{"black", plain(0), plain(0), 0, 0},
		{"white", plain(255), plain(255), 0, 0},
		{"grey", plain(120), plain(120), 0, 0},
		{"noise in the dark", func(int, int) float64 { return 8 * noise.Float64() }, plain(4), 0, 0.01},
		{"a blurred picture", tiles(0.7), tiles(0.7), 0, 0.35},
		{"the middle of a fade", level(0, 0.6), level(0, 0.75), 0, 0.35},
		{"nearly black", level(0, 0.12), level(0, 0.12), 0, 0.1},
		{"a glare", level(190, 0.5), level(190, 0.5), 0, 0.2},
	}
	for _, tt := range tests {
		f := painted(tt.frame)
		mean, spread := f.moments()
		if got := f.score(painted(tt.next)); got < tt.from || got > tt.to || math.IsNaN(got) {
			t.Errorf("%s has the score %.2f (mean %.0f, spread %.0f, blur %.2f); want %.2f to %.2f", tt.name, got, mean, spread, f.blur(), tt.from, tt.to)
		}
	}
}

// Much of the video is black; the poster is not.
func TestThePosterOfADarkVideoIsNotBlack(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, picture, keyEvery string
		runs                    int
	}{
		{"with keyframes, which are looked at one after the other", "drawbox=t=fill:c=black:enable='lt(t,3.5)'", "5", 4},
		{"with one keyframe, where later frames are made together", "fade=in:st=1.6:d=1", "250", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tools := newEngine(t)
			source := enginetest.Clip(t, "a.mp4", "testsrc2=s=1400x700:r=5:d=6,"+tt.picture, "-map", "0:v", "-g", tt.keyEvery, "-preset", "ultrafast")
			job := enginetest.NewJob(t, source)
			p, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
			if err != nil {
				t.Fatal(err)
			}
			runs, done := 0, -1.0
			job.Ran = func(e video.Execution) { runs++ }
			path, _, err := tools.Poster(t.Context(), job, p, func(d float64) { done = d })
			if err != nil || runs != tt.runs || done <= 0 || done > 1 {
				t.Fatalf("poster is %q after %d runs, %v done: %v; want it after %d", path, runs, done, err, tt.runs)
			}
			file, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			picture, err := decodeBrightness(file, 1280, 640)
			if err != nil {
				t.Fatal(err)
			}
			if mean, _ := picture.moments(); mean < 60 {
				t.Errorf("the poster has the brightness %.0f", mean)
			}
		})
	}
}

// A long video is looked at in more than one place, but not where all before would have to be decoded.
func TestAGoodFrameOfALongVideoWithoutKeyframesIsEnough(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	job := enginetest.NewJob(t, enginetest.Clip(t, "a.mp4", "testsrc2=s=320x180:r=2:d=62", "-map", "0:v", "-g", "1000"))
	p, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	job.Ran = func(video.Execution) { runs++ }
	if path, _, err := tools.Poster(t.Context(), job, p, nil); err != nil || path == "" || runs != 1 || len(p.Poster.Frames) < 4 {
		t.Errorf("poster is %q after %d runs for %d frames: %v; want it after 1", path, runs, len(p.Poster.Frames), err)
	}
}

// Tiny frames have no neighbours to compare.
func TestThePosterOfATinyVideo(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	job := enginetest.NewJob(t, enginetest.Clip(t, "a.mkv", "color=gray:s=2x2:r=5:d=0.2", "-map", "0:v", "-c:v", "ffv1"))
	p, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
	if err != nil {
		t.Fatal(err)
	}
	if path, _, err := tools.Poster(t.Context(), job, p, nil); err != nil || path == "" {
		t.Errorf("poster is %q: %v", path, err)
	}
}

// TestAPosterCostsFewFrames has ffmpeg say how much of a clip it decoded for the poster. The video ends long after it.
func TestAPosterCostsFewFrames(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	job := enginetest.NewJob(t, beepVideo(t, "a.mp4", "-g", "1000"))
	p, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
	if err != nil {
		t.Fatal(err)
	}
	still := posterStills(p, p.Poster.Frames[0])
	cmd := exec.CommandContext(t.Context(), "ffmpeg", append(thumbnailArgs(job, still, plan.Batches(still)[0], posterOptions), "-v", "verbose")...)
	cmd.Dir = job.OutDir
	told, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, told)
	}
	m := regexp.MustCompile(`Input stream #0:0 \(video\): .* (\d+) frames decoded`).FindSubmatch(told)
	if m == nil {
		t.Fatalf("ffmpeg does not tell how many frames it decoded: %s", told)
	}
	if decoded, _ := strconv.Atoi(string(m[1])); decoded == 0 || decoded > p.Frames/2 {
		t.Errorf("%d of %d frames were decoded for the poster; want those until it", decoded, p.Frames)
	}
}
