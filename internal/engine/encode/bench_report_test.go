package encode

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// report collects the rows of the engine benchmark's tables.
type report struct {
	tools *engine
	costs []string
	films []string
}

func (r *report) addCosts(name string, length time.Duration, rounds []round) {
	cpu := func(of func(round) cost) float64 {
		return middle(rounds, func(r round) float64 { return of(r).cpu.Seconds() })
	}
	spool := func(r round) cost { return r.spool }
	r.costs = append(r.costs, fmt.Sprintf("| %s | %.1f | %.1f | %.1f | %.1f | %.1f | **%.2f** | %.2f | **%.2f** | **%.2f** | %.0f |",
		name, length.Seconds(), cpu(spool), cpu(func(r round) cost { return r.each }),
		cpu(func(r round) cost { return r.plain }), cpu(func(r round) cost { return r.limit }),
		middle(rounds, round.ofLimit), middle(rounds, round.limitOfEach), middle(rounds, round.wallOfEach), middle(rounds, round.wallOfPlain),
		middle(rounds, func(r round) float64 { return float64(r.spool.memory >> 20) })))
}

// addFilms looks at what Spool made. It takes processor time of its own, which
// is not counted.
func (r *report) addFilms(name string, e *bench) {
	var row strings.Builder
	fmt.Fprintf(&row, "| %s | %s | %d |", name, e.plan.Input.Codec, e.plan.Input.Bitrate/1000)
	for i := range e.plan.Renditions {
		info, err := os.Stat(e.films[i])
		e.check(err)
		fmt.Fprintf(&row, " %.0f (%.3f) |", float64(info.Size())*8/1000/e.plan.Duration.Seconds(), e.ssim(i))
	}
	r.films = append(r.films, row.String()+strings.Repeat(" |", len(sixNames)-len(e.plan.Renditions)))
}

func (r *report) write(b *testing.B, path string) {
	text := fmt.Sprintf("# Benchmarks\n\n"+
		"Written by `make bench`; do not edit. ffmpeg %s, %d threads.\n\n"+
		"## The engine\n\n"+
		"Six resolutions (1080p to 144p) of the first %d seconds of each video, %s with quality %s.\n\n"+
		"- **Spool**: probe, one decode, cascaded scaling, all encodes, audio once, assembly, all in the sandbox.\n"+
		"- **each**: one `ffmpeg` for each resolution, one after the other, with the same encoder settings.\n"+
		"- **plain**: the same with the settings that `ffmpeg` itself takes (preset medium, CRF 23), as most people do it.\n"+
		"- **limit**: one decode, plus encoding uncompressed frames that lie ready, plus the audio once. No engine can beat it.\n\n"+
		"CPU seconds of each way, then the ratios: CPU of Spool to that of the limit, CPU of the limit to that of each, wall of Spool to those of each and plain. "+
		"All are medians of %d rounds in which the ways took turns. "+
		"Where the limit itself needs more than half of what each needs, no engine can be twice as fast as each.\n\n"+
		"| video | length | Spool | each | plain | limit | Spool/limit | limit/each | wall, Spool/each | wall, Spool/plain | MiB |\n"+
		"|---|---|---|---|---|---|---|---|---|---|---|\n%s\n\n"+
		"## What comes out\n\n"+
		"kbit/s of each file, audio included, and in brackets the SSIM (brightness) against the frames that went into the encoder.\n\n"+
		"| video | source | kbit/s | %s |\n|---|---|---|---|---|---|---|---|---|\n%s\n",
		r.tools.run.Version(), r.tools.Encoder.threads, *benchSeconds, r.tools.Encoder.encoder.name, *benchQuality, *benchRounds,
		strings.Join(r.costs, "\n"), joinNames(" | "), strings.Join(r.films, "\n"))
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
}

func joinNames(separator string) string {
	var names []string
	for _, n := range sixNames {
		names = append(names, string(n))
	}
	return strings.Join(names, separator)
}
