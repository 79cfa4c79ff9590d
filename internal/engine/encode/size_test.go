package encode

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/test/footage"
)

// pictureBytes encodes all chunks of a plan and returns how many bytes the picture of each rendition has.
func pictureBytes(t testing.TB, tools *engine, job ffmpeg.Job, p *video.Plan) []int64 {
	t.Helper()
	sums := make([]int64, len(p.Renditions))
	for n, c := range p.Chunks {
		if c.Start >= c.End {
			continue
		}
		outputs, err := tools.EncodeChunk(t.Context(), job, p, n, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range outputs {
			f, err := os.Open(o.Path)
			if err != nil {
				t.Fatal(err)
			}
			track, err := mp4.Inspect(mp4.Input{ReaderAt: f, Size: o.Size}, mp4.TablesFor(p.Duration))
			f.Close()
			if err != nil {
				t.Fatal(err)
			}
			sums[o.Rendition] += track.Size
		}
	}
	return sums
}

// promised is how many bits a second a rendition may have of a source, and false if nothing is promised.
func promised(source string, to video.Codec, rate float64) (float64, bool) {
	from, own := generation[source], generation[string(to)]
	switch {
	case from > own:
		return max(1.6*rate, leastLimit), true
	case source == string(to):
		return max(1.05*rate, leastLimit), true
	}
	return 0, false
}

// checkSizes encodes a source at some sizes in a codec, compares the bits with what is promised, and returns a line of a table.
func checkSizes(t *testing.T, tools *engine, source string, to video.Codec, names ...video.Name) string {
	t.Helper()
	job := enginetest.NewJob(t, source)
	p, err := tools.Inspect(t.Context(), job, plan.Request{Names: names})
	if err != nil {
		t.Skip(err) // no video at all
	}
	tools.SetRates(p)
	all := make([]int, len(p.Renditions))
	for i := range all {
		all[i] = i
	}
	q := p
	if to != video.H264 {
		q = p.Beside(to, all)
	}
	rate := float64(8*sourceBytes(p)) / p.Duration.Seconds()
	line := fmt.Sprintf("%s %.0f", p.Input.Codec, rate/1000)
	for i, bytes := range pictureBytes(t, tools, job, q) {
		r := p.Renditions[i]
		got := float64(8*bytes) / p.Duration.Seconds()
		line += fmt.Sprintf(" | %d × %d: %.0f (limit %d)", r.Width, r.Height, got/1000, r.MaxBitrate[to]/1000)
		if most, ok := promised(p.Input.Codec, to, rate); ok && got > most {
			t.Errorf("%s of %d × %d has %.0f bits a second; its source of %s has %.0f, so at most %.0f are promised", to, r.Width, r.Height, got, p.Input.Codec, rate, most)
		}
	}
	return line
}

// sizeCases are sources that have fewer bits than what is made of them would have.
var sizeCases = []struct {
	name, file, picture string
	args                []string
	to                  video.Codec
	chunked             bool // once more in chunks of two seconds
}{
	{"wild motion in very few bits", "a.mp4", "mandelbrot=s=320x180:r=25:end_scale=0.01,trim=end=6", []string{"-c:v", "libx264", "-preset", "medium", "-b:v", "90k", "-maxrate", "90k", "-bufsize", "90k"}, video.H264, false},
	{"noise in few bits", "a.mkv", "testsrc2=s=320x180:r=30:d=6,noise=alls=40:allf=t", []string{"-c:v", "libx264", "-preset", "medium", "-b:v", "150k"}, video.H264, false},
	{"a very short clip", "a.mp4", "testsrc2=s=320x180:r=25:d=0.4,noise=alls=20:allf=t", []string{"-c:v", "libx264", "-preset", "slow", "-crf", "32"}, video.H264, false},
	{"one frame a second", "a.mp4", "testsrc2=s=320x180:r=1:d=12,noise=alls=20:allf=t", []string{"-c:v", "libx264", "-preset", "slow", "-crf", "34"}, video.H264, false},
	{"a still picture with one keyframe", "a.mp4", "testsrc2=s=640x360:r=10:d=1,loop=-1:1,trim=end=25", []string{"-c:v", "libx264", "-preset", "medium", "-g", "1000"}, video.H264, true},
	{"frames at uneven times", "a.mkv", "testsrc2=s=320x180:r=30:d=8,noise=alls=20:allf=t,select='lt(mod(n\\,40)\\,7)'", []string{"-fps_mode", "passthrough", "-c:v", "libx264", "-preset", "medium", "-crf", "36"}, video.H264, false},
	{"quiet, then wild", "a.mp4", "testsrc2=s=320x180:r=25:d=8,noise=alls=50:allf=t:enable='gt(t,4)'", []string{"-c:v", "libx264", "-preset", "medium", "-crf", "38", "-g", "25"}, video.H264, true},
	{"an AVI, which tells no times", "a.avi", "testsrc2=s=320x180:r=25:d=4,noise=alls=20:allf=t", []string{"-c:v", "libx264", "-preset", "medium", "-crf", "36", "-bf", "0"}, video.H264, false},
	{"a transport stream", "a.ts", "testsrc2=s=320x180:r=25:d=4,noise=alls=20:allf=t", []string{"-c:v", "libx264", "-preset", "medium", "-crf", "36"}, video.H264, false},
	{"a raw stream", "a.h264", "testsrc2=s=320x180:r=25:d=4,noise=alls=20:allf=t", []string{"-an", "-c:v", "libx264", "-preset", "medium", "-crf", "36"}, video.H264, false},
	{"H.264 of HEVC", "a.mp4", "testsrc2=s=320x180:r=25:d=4,noise=alls=20:allf=t", []string{"-c:v", "libx265", "-preset", "veryfast", "-crf", "36", "-x265-params", "log-level=error"}, video.H264, false},
	{"HEVC of HEVC", "a.mp4", "testsrc2=s=320x180:r=25:d=4,noise=alls=20:allf=t", []string{"-c:v", "libx265", "-preset", "veryfast", "-crf", "38", "-x265-params", "log-level=error"}, video.HEVC, false},
}

// No rendition has notably more bits than its source, in chunks or in one.
func TestNoRenditionIsLargerThanItsSource(t *testing.T) {
	t.Parallel()
	tools, short := newEngine(t), plan.DefaultChunking
	short.Length, short.Min, short.Whole, short.MinLast = 2*time.Second, time.Second, 2*time.Second, time.Second
	chunked := &engine{plan.NewInspector(probe.New(tools.run, probe.Config{}), plan.Config{Chunking: short}), tools.Encoder, tools.run}
	for _, tt := range sizeCases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			source := enginetest.Clip(t, tt.file, tt.picture, append([]string{"-map", "0:v", "-pix_fmt", "yuv420p"}, tt.args...)...)
			t.Log(checkSizes(t, tools, source, tt.to, "360p", "144p"))
			if tt.chunked {
				t.Log(checkSizes(t, chunked, source, tt.to, "360p", "144p"))
			}
		})
	}
}

// TestSizesOfRealVideos shows what becomes of the real footage.
func TestSizesOfRealVideos(t *testing.T) {
	tools := newEngine(t)
	for _, folder := range []string{"variety", "bench"} {
		films, err := filepath.Glob(filepath.Join(footage.Path(t, folder), "*_*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, film := range films {
			t.Run(filepath.Base(film), func(t *testing.T) {
				if strings.HasSuffix(film, ".tsv") {
					return
				}
				t.Log(checkSizes(t, tools, film, video.H264, "1080p", "480p", "144p"))
			})
		}
	}
}
