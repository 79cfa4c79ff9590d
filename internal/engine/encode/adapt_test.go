package encode

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// checkTrial tries a few frames of a video of any kind, though it is too short to be worth it.
func checkTrial(t *testing.T, tools *engine, job ffmpeg.Job, p *video.Plan) {
	t.Helper()
	if !ffmpeg.HasTimestamps(p.Input) {
		return
	}
	q := *p
	q.Trials = q.Samples[:min(2, len(q.Samples))]
	found, err := tools.tryFrames(t.Context(), job, &q)
	if err != nil || len(found) != len(triedSizes(&q)) {
		t.Fatalf("the trial found %v: %v", found, err)
	}
	for i, f := range found {
		if f.ssim <= 0.3 || f.ssim > 1 || f.motion < 0 || f.motion > 128 {
			t.Errorf("the trial of rendition %d found %+v", i, f)
		}
	}
}

// The picture decides: what is easy to encode gets a higher CRF than what is hard.
func TestChooseQuality(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	tools.adapt = true
	crf := map[string]float64{}
	for name, picture := range map[string]string{"easy": easyPicture, "hard": hardPicture} {
		job := enginetest.NewJob(t, enginetest.Clip(t, "a.mp4", picture, "-map", "0:v", "-g", "10"))
		p, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"360p"}})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Trials) > 0 {
			t.Error("a trial is worth it for a clip of two seconds")
		}
		p.Trials = p.Samples
		if err := tools.ChooseQuality(t.Context(), job, p); err != nil {
			t.Fatal(err)
		}
		if left, err := filepath.Glob(filepath.Join(job.OutDir, "*.*")); err != nil || len(left) > 0 {
			t.Errorf("the trial leaves %q (%v)", left, err)
		}
		r := p.Renditions[0]
		crf[name] = r.CRF[video.H264]
		if r.CRF[video.AV1] == 0 {
			t.Errorf("no CRF of AV1 in %+v", r)
		}
		args := strings.Join(chunkArgs(job, p, 0, encoders[0], 1), " ")
		if want := " -crf " + (effort{crf: crf[name]}).rateFactor() + " "; !strings.Contains(args, want) {
			t.Errorf("%s is encoded with %s; want%s", name, args, want)
		}
	}
	if usual := effortOf(video.H264, "", video.Rendition{Width: 320, Height: 180}).crf; crf["easy"] <= usual || crf["hard"] > usual {
		t.Errorf("CRF are %v; want more and less than %v", crf, usual)
	}
}

const (
	easyPicture = "smptebars=s=320x180:r=25:d=2"
	hardPicture = "mandelbrot=s=320x180:r=25,trim=end=2"
)

// A trial that fails is no reason not to encode, and neither is a plan without one.
func TestChooseQualityWithoutATrial(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	usual := effortOf(video.H264, "", video.Rendition{Width: 320, Height: 180}).crf
	part := []video.Chunk{{Start: 1 << 40, End: 1<<40 + 1, Seek: video.NoSeek}} // no frame is there
	for name, change := range map[string]func(*video.Plan){
		"no trial":         func(p *video.Plan) { p.Trials, tools.adapt = nil, true },
		"a failed trial":   func(p *video.Plan) { p.Trials, tools.adapt = part, true },
		"a black film":     func(p *video.Plan) { p.Trials, tools.adapt = p.Samples, true },
		"a server without": func(p *video.Plan) { p.Trials, tools.adapt = p.Samples, false },
	} {
		shown := picture
		if name == "a black film" {
			shown = "color=black:s=320x180:r=25:d=2"
		}
		job := enginetest.NewJob(t, enginetest.Clip(t, "a.mp4", shown, "-map", "0:v"))
		p, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"360p"}})
		if err != nil {
			t.Fatal(err)
		}
		change(p)
		if err := tools.ChooseQuality(t.Context(), job, p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if r := p.Renditions[0]; r.CRF[video.H264] != usual || r.Shift != 0 {
			t.Errorf("%s: %+v; want the usual CRF of %v", name, r, usual)
		}
	}
}

// What is expensive already, as noise is, gets no more bits, and nothing leaves its bounds.
func TestShiftOf(t *testing.T) {
	t.Parallel()
	full, small := video.Rendition{Width: 1920, Height: 1080}, video.Rendition{Width: 480, Height: 854}
	for name, tt := range map[string]struct {
		found trialResult
		size  video.Rendition
		want  float64
	}{
		"a usual picture":         {trialResult{ssim: 0.9937, motion: 1, bits: 0.1}, full, 0},
		"one that is easy":        {trialResult{ssim: 0.9969, motion: 0.9, bits: 0.02}, full, 5},
		"identical frames":        {trialResult{ssim: 1}, full, highestShift},
		"motion hides losses":     {trialResult{ssim: 0.992, motion: 7.5, bits: 0.1}, full, 4.5},
		"soft and cheap":          {trialResult{ssim: 0.9864, motion: 0.6, bits: 0.06}, full, lowestShift},
		"noise":                   {trialResult{ssim: 0.6, motion: 0.6, bits: 0.5}, full, 0},
		"noise at a small size":   {trialResult{ssim: 0.6, bits: 0.5}, small, 0},
		"nothing is left of it":   {trialResult{ssim: -1}, full, lowestShift},
		"soft and cheap, upright": {trialResult{ssim: 0.98, motion: 0.6, bits: 0.06}, small, lowestShift},
	} {
		if got := shiftOf(tt.found, tt.size); got != tt.want {
			t.Errorf("%s: %+v at %d × %d shifts the CRF by %v, want %v", name, tt.found, tt.size.Width, tt.size.Height, got, tt.want)
		}
	}
}

// Sizes that are not tried have the shift of a neighbour, and each codec its own scale.
func TestShiftsOfAllSizes(t *testing.T) {
	t.Parallel()
	p := &video.Plan{Quality: video.Balanced}
	for _, h := range []int{2160, 1080, 720, 480, 240} {
		p.Renditions = append(p.Renditions, video.Rendition{Width: h * 16 / 9, Height: h})
	}
	if got := triedSizes(p); !slices.Equal(got, []int{1, 3}) {
		t.Fatalf("tried are %v, want 1080p and 480p", got)
	}
	shifts := shiftsOf(p, map[int]trialResult{1: {ssim: 1}, 3: {ssim: 0.98, bits: 0.01}})
	if want := []float64{6, 6, 6, -3, -3}; !slices.Equal(shifts, want) {
		t.Fatalf("shifts are %v, want %v", shifts, want)
	}
	applyShifts(p, shifts)
	for i, r := range p.Renditions {
		h264, av1 := effortOf(video.H264, video.Balanced, r).crf, effortOf(video.AV1, video.Balanced, r).crf
		if r.CRF[video.H264] != h264+shifts[i] || r.CRF[video.AV1] != av1+shifts[i] {
			t.Errorf("%d × %d has %v, usual are %v and %v", r.Width, r.Height, r.CRF, h264, av1)
		}
	}
	early := *p
	early.Early = &video.Early{}
	if got := triedSizes(&early); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("tried of an early film are %v, want 720p and 480p", got)
	}
	if got := triedSizes(&video.Plan{Renditions: p.Renditions[:1]}); got != nil {
		t.Errorf("tried of 4k alone are %v, want none", got)
	}
}

// A trial stands back like the encodes that follow it, unless somebody waits.
func TestATrialStandsBack(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		early       *video.Early
		yield, want float64
	}{{nil, 0, 1}, {nil, 1.5, 1.5}, {&video.Early{}, 0, 0}} {
		if got := trialJob(ffmpeg.Job{Yield: tt.yield}, &video.Plan{Early: tt.early}).Yield; got != tt.want {
			t.Errorf("a job of %g stands back by %g, want %g", tt.yield, got, tt.want)
		}
	}
}

func TestTheSizeOfATrial(t *testing.T) {
	t.Parallel()
	p := &video.Plan{Trials: make([]video.Chunk, 4), Renditions: []video.Rendition{{Width: 854, Height: 480}, {Width: 1920, Height: 1080}, {Width: 3840, Height: 2160}}}
	// 48 frames of 1080p and 480p, with one byte for each pixel
	if got := TrialBytes(p); got < 110e6 || got > 130e6 {
		t.Errorf("a trial is said to take %d bytes", got)
	}
	if p.Trials = nil; TrialBytes(p) != 0 {
		t.Errorf("no trial is said to take %d bytes", TrialBytes(p))
	}
}
