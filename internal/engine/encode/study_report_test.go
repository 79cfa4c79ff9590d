package encode

import (
	"fmt"
	"math"
	"os"
	"strings"
)

// The study writes between these lines of its page.
const (
	studyBegin = "<!-- study: written by make study; do not edit -->"
	studyEnd   = "<!-- study: end -->"
	optBegin   = "<!-- options: written by make study OPTIONS=…; do not edit -->"
	optEnd     = "<!-- options: end -->"
)

// write replaces what the last study wrote into a page.
func (s *study) write(path, version string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := replaceBetween(string(page), studyBegin, studyEnd, s.delivered(version))
	if err == nil && len(s.options) > 0 {
		text, err = replaceBetween(text, optBegin, optEnd, s.optionTable())
	}
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

func replaceBetween(page, begin, end, text string) (string, error) {
	before, rest, ok := strings.Cut(page, begin)
	_, after, both := strings.Cut(rest, end)
	if !ok || !both {
		return "", fmt.Errorf("the page has no lines %q and %q", begin, end)
	}
	return before + begin + "\n" + strings.TrimSpace(text) + "\n" + end + after, nil
}

// delivered is the table of what Spool makes.
func (s *study) delivered(version string) string {
	var t strings.Builder
	fmt.Fprintf(&t, "ffmpeg %s, the first %d seconds of each video; %s (mean). kbit/s and %[3]s of x264 `veryfast` CRF %d, of Spool's H.264 and of its AV1; "+
		"in bold their bytes as a part of what `veryfast` takes for the same %[3]s. CPU is that of both of Spool's encodes, against one `veryfast` ffmpeg for each resolution.\n\n",
		version, *benchSeconds, s.rate.name, plainCRF)
	t.WriteString("| video |")
	for _, n := range s.names {
		fmt.Fprintf(&t, " %[1]s: veryfast | H.264 | AV1 |", n)
	}
	t.WriteString(" CPU: H.264 | AV1 | both |\n|---|" + strings.Repeat("---|", 3*len(s.names)+3) + "\n")
	for _, f := range s.films {
		fmt.Fprintf(&t, "| %s |", f.name)
		for _, z := range f.sizes {
			fmt.Fprintf(&t, " %s | %s, **%.2f** | %s, **%.2f** |", f.cell(z.plain), f.cell(z.h264.point), z.h264.equal, f.cell(z.av1.point), z.av1.equal)
		}
		plain := f.plain.cpu.Seconds()
		fmt.Fprintf(&t, " %.2f | %.2f | **%.2f** |\n", f.h264.cpu.Seconds()/plain, f.av1.cpu.Seconds()/plain, (f.h264.cpu+f.av1.cpu).Seconds()/plain)
	}
	return t.String() + s.means()
}

// cell is the bitrate and the score of an encode.
func (f studyFilm) cell(p point) string {
	return fmt.Sprintf("%.0f, %.1f", p.bytes*8/1000/f.seconds, p.score)
}

// means is the last row: of scores the mean and the standard deviation, of ratios the geometric mean.
func (s *study) means() string {
	var t strings.Builder
	t.WriteString("| **all** |")
	for i := range s.names {
		scores := func(of func(studySize) float64) string { return meanAndDeviation(s.each(i, of)) }
		part := func(of func(studySize) float64) float64 { return geometricMean(s.each(i, of)) }
		fmt.Fprintf(&t, " %s | %s, **%.2f** | %s, **%.2f** |",
			scores(func(z studySize) float64 { return z.plain.score }),
			scores(func(z studySize) float64 { return z.h264.score }), part(func(z studySize) float64 { return z.h264.equal }),
			scores(func(z studySize) float64 { return z.av1.score }), part(func(z studySize) float64 { return z.av1.equal }))
	}
	var h264, av1, both []float64
	for _, f := range s.films {
		plain := f.plain.cpu.Seconds()
		h264, av1 = append(h264, f.h264.cpu.Seconds()/plain), append(av1, f.av1.cpu.Seconds()/plain)
		both = append(both, (f.h264.cpu+f.av1.cpu).Seconds()/plain)
	}
	fmt.Fprintf(&t, " %.2f | %.2f | **%.2f** |\n", geometricMean(h264), geometricMean(av1), geometricMean(both))
	return t.String()
}

// each is a figure of one resolution of all videos that have it.
func (s *study) each(size int, of func(studySize) float64) (all []float64) {
	for _, f := range s.films {
		if size < len(f.sizes) {
			all = append(all, of(f.sizes[size]))
		}
	}
	return all
}

// optionTable has a row for each set of options: bytes and processor time as parts of those of veryfast.
func (s *study) optionTable() string {
	var t strings.Builder
	t.WriteString("| options |")
	for _, n := range s.names {
		fmt.Fprintf(&t, " %[1]s: bytes | CPU |", n)
	}
	t.WriteString("\n|---|" + strings.Repeat("---|", 2*len(s.names)) + "\n")
	for _, o := range optionSets {
		var row strings.Builder
		found := false
		for i := range s.names {
			var bytes, cpu []float64
			for _, r := range s.options {
				if r.option == o.name && r.size == i {
					bytes, cpu = append(bytes, r.bytes), append(cpu, r.cpu)
				}
			}
			found = found || len(bytes) > 0
			fmt.Fprintf(&row, " %.2f | %.2f × |", geometricMean(bytes), geometricMean(cpu))
		}
		if found {
			fmt.Fprintf(&t, "| %s |%s\n", o.name, row.String())
		}
	}
	return t.String()
}

func geometricMean(all []float64) float64 {
	sum := 0.0
	for _, x := range all {
		sum += math.Log(x)
	}
	return math.Exp(sum / float64(len(all)))
}

// meanAndDeviation is the mean and the standard deviation.
func meanAndDeviation(all []float64) string {
	var sum, squares float64
	for _, x := range all {
		sum += x
	}
	mean := sum / float64(len(all))
	for _, x := range all {
		squares += (x - mean) * (x - mean)
	}
	return fmt.Sprintf("%.1f ± %.1f", mean, math.Sqrt(squares/float64(len(all))))
}
