package encode

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/test/need"
)

// finished takes a source through inspection, encoding and assembly, and returns
// what measuring needs. names are those of the sizes asked for.
func finished(t testing.TB, tools *engine, job ffmpeg.Job, names ...video.Name) (*video.Plan, []RenditionFile) {
	t.Helper()
	plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: names})
	if err != nil {
		t.Fatal(err)
	}
	parts := make([][]mp4.Input, len(plan.Renditions))
	for n := range plan.Chunks {
		outputs, err := tools.EncodeChunk(t.Context(), job, plan, n, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range outputs {
			kept := filepath.Join(t.TempDir(), "chunk file")
			if err := os.Rename(o.Path, kept); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(kept)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
			parts[o.Rendition] = append(parts[o.Rendition], mp4.Input{ReaderAt: f, Size: o.Size})
		}
	}
	var films []RenditionFile
	for i, pieces := range parts {
		path := filepath.Join(filepath.Dir(job.Source), fmt.Sprintf("video-%d", i))
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := mp4.Assemble(f, pieces, nil, mp4.Timing{}); err != nil {
			t.Fatal(err)
		}
		films = append(films, RenditionFile{Path: path, Rendition: i})
	}
	return plan, films
}

// Every frame of these frames differs from the next, so that frames which are
// compared with the wrong ones would not look alike.
func TestMeasure(t *testing.T) {
	t.Parallel()
	tools := shortChunks(newEngine(t))
	const moving = "testsrc2=s=288x160:r=12:d=5,rotate=t:c=gray"
	tests := []struct {
		name, file, picture string
		args                []string
		samples             int
		least               float64
		long                bool
	}{
		{"a video of several chunks", "a.mp4", moving, []string{"-g", "24"}, 3, 0.9, false},
		{"open groups of frames and B-frames", "a.mp4", moving, []string{"-g", "24", "-bf", "3", "-x264-params", "open-gop=1"}, 3, 0.9, true},
		{"a single keyframe", "a.mp4", moving, []string{"-g", "1000"}, 2, 0.9, true},
		{"turned by a quarter", "a.mp4", moving, []string{"-g", "24", enginetest.Turn, "270"}, 3, 0.9, true},
		{"more frames than the outputs have", "a.mp4", "testsrc2=s=288x160:r=120:d=4,rotate=t:c=gray", []string{"-g", "120"}, 3, 0.9, true},
		{"uneven times in milliseconds", "a.mkv", moving + ",select='lt(mod(n,7),3)'", []string{"-fps_mode", "passthrough", "-g", "10"}, 3, 0.9, true},
		{"a transport stream", "a.ts", moving, []string{"-g", "24"}, 3, 0.9, true},
		{"frames without times", "a.avi", moving, []string{"-c:v", "mpeg4", "-bf", "2", "-q:v", "2"}, 2, 0.9, false},
		{"wide pixels", "a.mp4", moving + ",setsar=4/3", []string{"-g", "24"}, 3, 0.9, true},
		{"HDR", "a.mkv", moving, []string{"-pix_fmt", "yuv420p10le", "-c:v", "ffv1", "-g", "1", "-color_trc", "smpte2084", "-colorspace", "bt2020nc", "-color_primaries", "bt2020"}, 3, 0.9, true},
		{"interlaced", "a.ts", "testsrc2=s=288x160:r=50:d=6,interlace", []string{"-c:v", "mpeg2video", "-flags", "+ildct+ilme", "-b:v", "2M", "-top", "1"}, 3, 0.85, true},
		{"one frame", "a.mp4", "testsrc2=s=320x180:r=25:d=0.04", nil, 1, 0.9, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.long {
				need.TimeFor(t, "the other cases stand for it")
			}
			args := append([]string{"-map", "0:v", "-an"}, tt.args...)
			job := enginetest.NewJob(t, enginetest.Clip(t, tt.file, tt.picture, args...))
			plan, films := finished(t, tools, job, "144p", "4k")
			if len(plan.Samples) != tt.samples {
				t.Errorf("samples = %+v; want %d", plan.Samples, tt.samples)
			}
			found, err := tools.Measure(t.Context(), job, plan, films, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range films {
				l := found[f.Rendition]
				t.Logf("rendition %d: %+v", f.Rendition, l)
				if l.SSIM < tt.least || l.SSIM > 1 || l.PSNR < 20 || l.PSNR > 100 {
					t.Errorf("rendition %d looks like its source by %+v; want SSIM over %v", f.Rendition, l, tt.least)
				}
			}
			checkWhatWasCompared(t, job, plan)
		})
	}
}

// checkWhatWasCompared wants every sample to have the frames that it ought to.
func checkWhatWasCompared(t *testing.T, job ffmpeg.Job, plan *video.Plan) {
	t.Helper()
	rate := min(plan.Input.FrameRate, 60)
	for n := range plan.Samples {
		got, err := readStats(filepath.Join(job.OutDir, statsFile("ssim", n, 0)), "Y")
		want := min(plan.Input.TimeBase.Seconds(plan.Samples[n].End-plan.Samples[n].Start), plan.Duration.Seconds()) * rate
		if err != nil || float64(len(got)) < want/2-1 || float64(len(got)) > 2*want+1 {
			t.Errorf("sample %d compares %d frames, %v; want about %.1f", n, len(got), err, want)
		}
	}
}

func TestMeasureTellsABadVideoFromAGoodOne(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	job := enginetest.NewJob(t, enginetest.Clip(t, "a.mp4", "testsrc2=s=320x180:r=25:d=2", "-an"))
	plan, films := finished(t, tools, job, "4k")
	good, err := tools.Measure(t.Context(), job, plan, films, nil)
	if err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(t.TempDir(), "bad.mp4")
	enginetest.RunFFmpeg(t, "-v", "error", "-nostdin", "-i", films[0].Path, "-vf", "boxblur=4", bad)
	worse, err := tools.Measure(t.Context(), job, plan, []RenditionFile{{Path: bad}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if good[0].SSIM < worse[0].SSIM+0.1 || good[0].PSNR < worse[0].PSNR+5 {
		t.Errorf("the video measures %+v, blurred it is %+v", good[0], worse[0])
	}
}

func TestMeasureWithoutVideos(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	job := enginetest.NewJob(t, enginetest.Clip(t, "a.mp4", "testsrc2=s=64x64:r=25:d=1", "-an"))
	plan, _ := finished(t, tools, job, "4k")
	found, err := tools.Measure(t.Context(), job, plan, nil, nil)
	if err != nil || len(found) != 0 {
		t.Errorf("Measure = %v, %v; want nothing", found, err)
	}
	missing := []RenditionFile{{Path: filepath.Join(t.TempDir(), "missing")}}
	if found, err := tools.Measure(t.Context(), job, plan, missing, nil); err == nil {
		t.Errorf("Measure of a video that is not there = %v; want an error", found)
	}
}

func TestReadStats(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"n:1 Y:0.5 U:1 V:1 All:0.6 (3.9)\nn:2 Y:1.0 U:0 V:0 All:1 (inf)\n": "[0.5 1] <nil>",
		"":              "[] <nil>",
		"n:1 Y:nan U:1": `[] Y is no number in "n:1 Y:nan U:1"`,
		"n:1 Y:inf":     `[] Y is no number in "n:1 Y:inf"`,
		"n:1 Y:x":       `[] Y is no number in "n:1 Y:x"`,
	} {
		path := filepath.Join(t.TempDir(), "stats")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readStats(path, "Y")
		if s := fmt.Sprint(got, " ", err); strings.Join(strings.Fields(s), " ") != want {
			t.Errorf("readStats(%q) = %s; want %s", text, s, want)
		}
	}
}

// A resolution that was added before the others were measured may be larger.
func TestMeasureTakesVideosInAnyOrder(t *testing.T) {
	t.Parallel()
	tools := shortChunks(newEngine(t))
	job := enginetest.NewJob(t, enginetest.Clip(t, "a.mp4", "testsrc2=s=480x270:r=15:d=3", "-an", "-g", "30"))
	plan, films := finished(t, tools, job, "144p", "240p")
	want, err := tools.Measure(t.Context(), job, plan, films, nil)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(films)
	got, err := tools.Measure(t.Context(), job, plan, films, nil)
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("ssim of the smaller video first is %v, %v; want %v", got, err, want)
	}
}

// A size that shows nothing which the next smaller one does not show is told as such.
func TestASizeThatShowsNothingMore(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	for picture, want := range map[string]video.Name{
		"testsrc2=s=640x360:r=10:d=1,gblur=12": "144p", // no detail at all
		"testsrc2=s=640x360:r=10:d=1":          "",
	} {
		job := enginetest.NewJob(t, enginetest.Clip(t, "a.mp4", picture, "-map", "0:v", "-preset", "ultrafast", "-crf", "10"))
		p, films := finished(t, tools, job, "360p", "144p")
		found, err := tools.Measure(t.Context(), job, p, films, nil)
		if err != nil || len(found) != 2 {
			t.Fatal(found, err)
		}
		if large, small := found[p.RenditionOf("360p")], found[p.RenditionOf("144p")]; large.NoBetterThan != want || small.NoBetterThan != "" {
			t.Errorf("%s: 360p is no better than %q, want %q: %+v", picture, large.NoBetterThan, want, found)
		}
	}
}

func TestGain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		g    gain
		none bool
	}{
		{gain{}, false}, // not measured
		{gain{frames: 10, own: 9.8, enlarged: 9.79}, true},
		{gain{frames: 10, own: 9.8, enlarged: 9.85}, true},
		{gain{frames: 10, own: 9.8, enlarged: 9.76}, false},
	} {
		if got := tt.g.isNone(); got != tt.none {
			t.Errorf("%+v: %t", tt.g, got)
		}
	}
}
