package media

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// report collects the rows of the engine benchmark's tables.
type report struct {
	tools *Tools
	costs []string
	films []string
}

func (r *report) addCosts(name string, length time.Duration, spool, each, limit cost) {
	r.costs = append(r.costs, fmt.Sprintf("| %s | %.1f | %.1f | %.1f | %.1f | **%.2f** | %.2f | %.1f | %.1f | %.2f | %d | %d |",
		name, length.Seconds(), spool.cpu.Seconds(), each.cpu.Seconds(), limit.cpu.Seconds(),
		spool.cpu.Seconds()/limit.cpu.Seconds(), spool.cpu.Seconds()/each.cpu.Seconds(),
		spool.wall.Seconds(), each.wall.Seconds(), spool.wall.Seconds()/each.wall.Seconds(),
		spool.memory>>20, each.memory>>20))
}

// addFilms looks at what Spool made. It takes processor time of its own, which
// is not counted.
func (r *report) addFilms(name string, e *engine) {
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
		"Six resolutions (1080p to 144p) of the first %d seconds of each film, %s with quality %s; encoder settings are the same in all ways.\n\n"+
		"- **Spool**: probe, one decode, cascaded scaling, all encodes, sound once, assembly, all in the sandbox.\n"+
		"- **each**: one `ffmpeg` for each resolution, one after the other, as most people do it.\n"+
		"- **limit**: one decode, plus encoding uncompressed frames that lie ready, plus the sound once. No engine can beat it.\n\n"+
		"Medians of %d rounds in which the ways took turns; CPU and wall in seconds, memory of the largest process in MiB. "+
		"Compare the ratios: the machine is not always idle.\n\n"+
		"| film | length | Spool CPU | each CPU | limit CPU | Spool/limit | Spool/each | Spool wall | each wall | wall ratio | Spool MiB | each MiB |\n"+
		"|---|---|---|---|---|---|---|---|---|---|---|---|\n%s\n\n"+
		"## What comes out\n\n"+
		"kbit/s of each file, sound included, and in brackets the SSIM (brightness) against the frames that went into the encoder.\n\n"+
		"| film | source | kbit/s | %s |\n|---|---|---|---|---|---|---|---|---|\n%s\n",
		r.tools.Version(), r.tools.threads, *benchSeconds, r.tools.encoder.name, r.tools.quality, *benchRounds,
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
