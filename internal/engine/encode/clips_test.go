package encode

import (
	"image/jpeg"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

const picture = "testsrc2=s=320x180:r=25:d=2"

// clipCases are videos that ffmpeg makes for the tests, and what becomes of them
// when 144p and 4k are asked for.
var clipCases = []struct {
	name    string
	file    string
	picture string
	args    []string
	w, h    int // of the largest rendition
	check   func(p *video.Plan) bool
	pixels  string // the least ssim to ffmpeg's own rendering; "" does not compare
}{
	{"an ordinary video keeps its size", "a.mp4", picture, nil, 320, 180, func(p *video.Plan) bool {
		return p.Frames == 50 && p.Duration == 2*time.Second && p.Audio.Channels == 1 && p.Audio.Bitrate == 96_000
	}, "0.95"},
	{"turned by a quarter it is shown upright", "a.mp4", picture, []string{enginetest.Turn, "270"}, 180, 320, rotated(90), "0.95"},
	{"turned by a half it is shown upright", "a.mp4", picture, []string{enginetest.Turn, "180"}, 320, 180, rotated(180), "0.95"},
	{"turned by three quarters it is shown upright", "a.mp4", picture, []string{enginetest.Turn, "90"}, 180, 320, rotated(270), "0.95"},
	{"wide pixels become square", "a.mp4", picture + ",setsar=4/3", nil, 426, 180, nil, "0.95"},
	{"an odd size becomes even and not larger", "a.mkv", "testsrc2=s=161x121:r=25:d=2", []string{"-c:v", "ffv1"}, 160, 120, nil, "0.9"},
	{"a variable frame rate stays as it is", "a.mp4", picture + ",select='lt(mod(n,7),3)'", []string{"-fps_mode", "passthrough"}, 320, 180, func(p *video.Plan) bool { return p.Frames == 22 }, "0.95"},
	{"ten bits become eight", "a.mkv", picture, []string{"-pix_fmt", "yuv422p10le", "-c:v", "ffv1"}, 320, 180, nil, "0.95"},
	{"full range becomes limited", "a.mp4", picture, []string{"-vf", "scale=out_range=pc", "-pix_fmt", "yuvj420p", "-color_range", "pc"}, 320, 180, func(p *video.Plan) bool { return p.Input.FullRange }, "0.95"},
	{"RGB becomes YUV", "a.mkv", picture, []string{"-pix_fmt", "bgr0", "-c:v", "ffv1"}, 320, 180, nil, ""},
	{"interlaced becomes progressive", "a.ts", "testsrc2=s=320x180:r=50:d=2,interlace", []string{"-c:v", "mpeg2video", "-flags", "+ildct+ilme", "-b:v", "2M", "-top", "1"}, 320, 180, func(p *video.Plan) bool { return p.Deinterlace }, ""},
	{"HDR is tone-mapped", "a.mkv", picture, []string{"-pix_fmt", "yuv420p10le", "-c:v", "ffv1", "-color_trc", "smpte2084", "-colorspace", "bt2020nc", "-color_primaries", "bt2020"}, 320, 180, func(p *video.Plan) bool { return p.ToneMap }, ""},
	{"HLG is tone-mapped", "a.mkv", picture, []string{"-pix_fmt", "yuv420p10le", "-c:v", "ffv1", "-color_trc", "arib-std-b67", "-colorspace", "bt2020nc", "-color_primaries", "bt2020"}, 320, 180, func(p *video.Plan) bool { return p.ToneMap }, ""},
	{"no audio is normal", "a.mp4", picture, []string{"-an"}, 320, 180, func(p *video.Plan) bool { return p.Audio == nil }, "0.95"},
	{"a container without times is one chunk", "a.avi", picture, []string{"-c:v", "mpeg4", "-bf", "2", "-q:v", "2"}, 320, 180, func(p *video.Plan) bool { return len(p.Chunks) == 1 }, ""},
	{"a raw stream has no times at all", "a.h264", picture, []string{"-an"}, 320, 180, func(p *video.Plan) bool { return len(p.Chunks) == 1 }, ""},
	{"a transport stream begins anywhere", "a.ts", picture, nil, 320, 180, func(p *video.Plan) bool { return p.FirstPTS > 0 }, ""},
	{"one frame is a video", "a.mp4", "testsrc2=s=320x180:r=25:d=0.04", []string{"-an"}, 320, 180, func(p *video.Plan) bool { return p.Frames == 1 && p.Duration == 40*time.Millisecond }, ""},
	{"more than sixty frames a second are too many", "a.mp4", "testsrc2=s=320x180:r=120:d=2", nil, 320, 180, func(p *video.Plan) bool { return p.LimitRate == 60 }, ""},
}

func rotated(by int) func(*video.Plan) bool {
	return func(p *video.Plan) bool { return p.Input.Rotation == by }
}

// TestClips takes videos of every kind through all steps and looks at the files.
func TestClips(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	for _, tt := range clipCases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			leaveToLong(t, tt.name, "turned by a half it is shown upright", "turned by three quarters it is shown upright",
				"an ordinary video keeps its size", "an odd size becomes even and not larger",
				"ten bits become eight", "HLG is tone-mapped",
				"HDR is tone-mapped",                                       // TestGreysOfHDR, TestColoursSurvive
				"a raw stream has no times at all",                         // TestVideosWithoutAContainer
				"no audio is normal", "a transport stream begins anywhere", // TestOutputs of test/e2e, TestAudioStaysWithTheVideo
				"one frame is a video", "more than sixty frames a second are too many", // TestMeasure, TestFastVideosKeepExactTimes
				"full range becomes limited", "RGB becomes YUV", // TestColoursSurvive
				"a variable frame rate stays as it is",   // TestChunksMakeTheSameVideo
				"a container without times is one chunk") // TestMeasure, TestVideosWithoutAContainer
			args := append([]string{"-map", "0:v", "-map", "1:a", "-shortest"}, tt.args...)
			source := enginetest.Clip(t, tt.file, tt.picture, args...)
			job := enginetest.NewJob(t, source)
			plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p", "4k"}, Thumbnails: []float64{1, 3600}})
			if err != nil {
				t.Fatal(err)
			}
			if tt.check != nil && !tt.check(plan) {
				t.Errorf("plan = %+v", plan)
			}
			if r := plan.Renditions[0]; r.Width != tt.w || r.Height != tt.h || !slices.Contains(r.Names, "4k") {
				t.Errorf("largest rendition = %+v; want %d × %d for 4k", r, tt.w, tt.h)
			}
			film := checkVideo(t, tools, job, plan, source)
			if tt.args == nil || tt.file != "a.mp4" { // the other sources have the same audio
				checkAudio(t, tools, job, plan)
			}
			checkThumbnails(t, tools, job, plan)
			if tt.pixels != "" {
				checkLikeness(t, film, chunkFilePath(job, 0), source, tt.pixels)
			}
		})
	}
}

// checkVideo encodes the video and compares it with what was promised.
func checkVideo(t *testing.T, tools *engine, job ffmpeg.Job, plan *video.Plan, source string) encoded {
	t.Helper()
	got := encodeAll(t, tools, job, plan)
	s, r := got.first.Streams[0], plan.Renditions[0]
	if s.Codec != "h264" || s.Profile != "High" || s.PixelFormat != "yuv420p" || s.Width != r.Width || s.Height != r.Height {
		t.Errorf("output is %+v; want H.264 High yuv420p %d × %d", s, r.Width, r.Height)
	}
	if s.Aspect != "1:1" || s.Range != "tv" || s.Matrix == "" || s.FieldOrder != "progressive" || len(s.SideData) != 0 {
		t.Errorf("output is %+v; want square pixels, limited range, a matrix, progressive, no rotation", s)
	}
	var want []float64
	if !ffmpeg.HasTimestamps(plan.Input) || plan.LimitRate > 0 {
		rate := min(plan.Input.FrameRate, 60)
		frames := float64(plan.Frames) * rate / plan.Input.FrameRate
		for i := range int(frames + 0.5) {
			want = append(want, float64(i)/rate)
		}
	} else {
		want = since(probeFile(t, source, "v:0").times(t))
	}
	sameTimes(t, got.times, want)
	return got
}

func checkAudio(t *testing.T, tools *engine, job ffmpeg.Job, plan *video.Plan) {
	t.Helper()
	if plan.Audio == nil {
		return
	}
	out, err := tools.EncodeAudio(t.Context(), job, inOnePiece(plan), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := probeFile(t, out.Path, "a:0").Streams[0]
	if s.Codec != "aac" || s.Profile != "LC" || s.Channels != 2 || s.SampleRate != "48000" || s.Start != "0.000000" {
		t.Errorf("audio is %+v; want AAC-LC stereo 48 kHz from 0", s)
	}
	if d, _ := strconv.ParseFloat(s.Duration, 64); d > plan.Duration.Seconds()+0.05 || d < plan.Duration.Seconds()-0.2 {
		t.Errorf("audio lasts %s s; the video lasts %v", s.Duration, plan.Duration)
	}
}

func checkThumbnails(t *testing.T, tools *engine, job ffmpeg.Job, plan *video.Plan) {
	t.Helper()
	pictures, err := tools.Thumbnails(t.Context(), job, plan, nil)
	if err != nil || len(pictures) != len(plan.Thumbnails)*len(plan.Renditions) {
		t.Fatalf("Thumbnails = %d frames, %v; want %d", len(pictures), err, len(plan.Thumbnails)*len(plan.Renditions))
	}
	for _, o := range pictures {
		f, err := os.Open(o.Path)
		if err != nil {
			t.Fatal(err)
		}
		c, err := jpeg.DecodeConfig(f)
		f.Close()
		if r := plan.Renditions[o.Rendition]; err != nil || c.Width != r.Width || c.Height != r.Height {
			t.Errorf("thumbnail is %d × %d, %v; want JPEG %d × %d", c.Width, c.Height, err, r.Width, r.Height)
		}
	}
}

var ssim = regexp.MustCompile(`All:([0-9.]+)`)

// checkLikeness compares a chunk file with ffmpeg's own rendering of the source
// frame by frame. Chunk files stand on the video's timeline, so any can be compared.
func checkLikeness(t *testing.T, film encoded, piece, source, least string) {
	t.Helper()
	s := film.first.Streams[0]
	size := strconv.Itoa(s.Width) + ":" + strconv.Itoa(s.Height)
	out, err := exec.CommandContext(t.Context(), "ffmpeg", "-nostdin", "-hide_banner", "-copyts", "-i", piece, "-i", source, "-lavfi",
		"[1:v:0]setpts=PTS-STARTPTS,scale="+size+":flags=bicubic:out_range=tv,setsar=1,format=yuv420p[r];[0:v][r]ssim=shortest=1",
		"-fps_mode", "passthrough", "-f", "null", "-").CombinedOutput()
	if err != nil {
		t.Fatalf("compare: %v\n%s", err, out)
	}
	m := ssim.FindSubmatch(out)
	if m == nil {
		t.Fatalf("no ssim in %s", out)
	}
	got, _ := strconv.ParseFloat(string(m[1]), 64)
	if want, _ := strconv.ParseFloat(least, 64); got < want {
		t.Errorf("%s is %.4f like its source; want %s or more", filepath.Base(piece), got, least)
	}
}
