package encode

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/video"
)

// BenchmarkCodecs compares AV1 as it is made beside H.264 with one ffmpeg for each resolution that
// encodes H.264 with veryfast, CRF 23, as most services do: the bytes at 1080p and 480p, as they are and
// at equal SSIM, and the processor time of both codecs of Spool together.
func BenchmarkCodecs(b *testing.B) {
	tools := newEngine(b)
	tools.Encoder.threads = runtime.GOMAXPROCS(0)
	for _, source := range benchClips(b) {
		name := strings.TrimSuffix(filepath.Base(source), filepath.Ext(source))
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				compareCodecs(newBench(b, tools, source, []video.Name{"1080p", "480p"}))
			}
		})
	}
}

func compareCodecs(e *bench) {
	h264 := e.took(e.spool)
	ours := e.sizes()
	av1 := e.took(e.beside)
	other := e.sizes()
	plain := e.took(func() { e.veryfast(23) })
	fine := e.sizes()
	e.veryfast(29)
	coarse := e.sizes()
	for i, r := range e.plan.Renditions {
		equal := fine[i].bytesAt(other[i].ssim, coarse[i])
		e.Logf("%d × %d: veryfast %v, H.264 %v, AV1 %v", r.Width, r.Height, fine[i], ours[i], other[i])
		side := strconv.Itoa(min(r.Width, r.Height)) + "p"
		e.ReportMetric(other[i].bytes/fine[i].bytes, "bytes-"+side)
		e.ReportMetric(other[i].bytes/equal, "bytes-at-equal-ssim-"+side)
	}
	e.ReportMetric((h264.cpu+av1.cpu).Seconds()/plain.cpu.Seconds(), "cpu-of-veryfast")
}

// beside makes the frames in AV1, as a worker does when the video is ready.
func (e *bench) beside() {
	var all []int
	for i := range e.plan.Renditions {
		all = append(all, i)
	}
	p, job := e.plan.Beside(video.AV1, all), e.job
	pieces := make([][]string, len(all))
	for n, c := range p.Chunks {
		if c.Start >= c.End {
			continue
		}
		job.OutDir = e.TempDir()
		outputs, err := e.tools.EncodeChunk(e.Context(), job, p, n, nil)
		e.check(err)
		for _, o := range outputs {
			pieces[o.Rendition] = append(pieces[o.Rendition], o.Path)
		}
	}
	for i, paths := range pieces {
		e.films[i] = filepath.Join(e.TempDir(), "av1.mp4")
		e.assemble(e.films[i], paths, "")
	}
}

// veryfast is one ffmpeg for each resolution.
func (e *bench) veryfast(crf int) {
	for i, r := range e.plan.Renditions {
		e.films[i] = filepath.Join(e.job.OutDir, fmt.Sprintf("veryfast%d-%d.mp4", i, crf))
		e.ffmpeg("-i", e.job.Source, "-an", "-vf", fmt.Sprintf("scale=%d:%d", r.Width, r.Height), "-pix_fmt", "yuv420p", "-fps_mode", "passthrough",
			"-c:v", "libx264", "-preset", "veryfast", "-crf", strconv.Itoa(crf), "-g", strconv.Itoa(int(2*e.plan.Input.FrameRate)), e.films[i])
	}
}

// encodedFrames is what a way made of a rendition.
type encodedFrames struct {
	bytes float64
	ssim  float64
}

func (f encodedFrames) String() string { return fmt.Sprintf("%.0f bytes, SSIM %.4f", f.bytes, f.ssim) }

// sizes measures what was made last.
func (e *bench) sizes() []encodedFrames {
	var all []encodedFrames
	for i, path := range e.films {
		info, err := os.Stat(path)
		e.check(err)
		all = append(all, encodedFrames{float64(info.Size()), e.ssim(i)})
	}
	return all
}

// bytesAt is how many bytes a way takes for an SSIM, by what it took for two others.
func (f encodedFrames) bytesAt(ssim float64, other encodedFrames) float64 {
	scale := func(ssim float64) float64 { return -math.Log(1 - ssim) }
	part := (scale(ssim) - scale(f.ssim)) / (scale(other.ssim) - scale(f.ssim))
	return f.bytes * math.Pow(other.bytes/f.bytes, part)
}
