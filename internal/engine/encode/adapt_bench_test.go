package encode

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// BenchmarkTrials tells what the trials of each clip find, what follows from it, and what they cost of
// the processor time of an encode of the whole clip.
func BenchmarkTrials(b *testing.B) {
	tools := newEngine(b)
	tools.Encoder.threads, tools.Encoder.adapt = runtime.GOMAXPROCS(0), true
	for _, source := range benchClips(b) {
		b.Run(strings.TrimSuffix(filepath.Base(source), filepath.Ext(source)), func(b *testing.B) {
			for b.Loop() {
				tryClip(b, tools, source)
			}
		})
	}
}

func tryClip(b *testing.B, tools *engine, source string) {
	e := &bench{B: b, tools: tools, names: []video.Name{"1080p", "720p", "480p", "360p", "240p"}}
	job := ffmpeg.Job{Source: source, OutDir: b.TempDir()}
	p, err := tools.Inspect(b.Context(), job, plan.Request{Names: e.names})
	e.check(err)
	var found map[int]trialResult
	trial := e.took(func() {
		found, err = tools.tryFrames(b.Context(), job, p)
		e.check(err)
	})
	shifts := shiftsOf(p, found)
	for i, r := range p.Renditions {
		b.Logf("%d × %d: %.2f dB, motion %.2f, %.4f bits, shift %+.1f", r.Width, r.Height, -10*math.Log10(1-found[i].ssim), found[i].motion, found[i].bits, shifts[i])
	}
	b.ReportMetric(trial.cpu.Seconds(), "s-cpu-of-trial")
	b.ReportMetric(trial.wall.Seconds(), "s-wall-of-trial")
	if os.Getenv("SPOOL_TRIALS_ONLY") != "" {
		return
	}
	whole := e.took(func() {
		for n := range p.Chunks {
			job.OutDir = b.TempDir()
			_, err := tools.EncodeChunk(b.Context(), job, p, n, nil)
			e.check(err)
		}
	})
	b.ReportMetric(100*trial.cpu.Seconds()/whole.cpu.Seconds(), "%-of-encode")
}
