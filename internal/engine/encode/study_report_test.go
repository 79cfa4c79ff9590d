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
	fmt.Fprintf(&t, "ffmpeg %s, the first %d seconds of each video; %s (mean of the frames). Of x264 `veryfast` CRF %d: kbit/s, %[3]s. Of Spool's H.264 and of its AV1, as delivered: "+
		"kbit/s, in brackets the bytes as a part of those of `veryfast` CRF %[4]d, %[3]s; in bold the bytes as a part of what `veryfast` takes for the same %[3]s. "+
		"CPU is against one `veryfast` ffmpeg for each resolution; *trial* is the inspection and the choice of the CRF.\n\n",
		version, *benchSeconds, s.rate.name, plainCRF)
	t.WriteString("| video |")
	for _, n := range s.names {
		fmt.Fprintf(&t, " %[1]s: veryfast | H.264 | AV1 |", n)
	}
	t.WriteString(" CPU: " + strings.Join(cpuColumns, " | ") + " |\n|---|" + strings.Repeat("---|", 3*len(s.names)+len(cpuColumns)) + "\n")
	for _, f := range s.films {
		fmt.Fprintf(&t, "| %s |", f.name)
		for _, z := range f.sizes {
			fmt.Fprintf(&t, " %.0f, %.1f | %s | %s |", f.rate(z.plain), z.plain.score, f.cell(z.h264, z.plain), f.cell(z.av1, z.plain))
		}
		for _, part := range f.ofPlain() {
			fmt.Fprintf(&t, " %.2f |", part)
		}
		t.WriteString("\n")
	}
	return t.String() + s.means()
}

// rate is the bitrate of an encode in kbit/s.
func (f studyFilm) rate(p point) float64 { return p.bytes * 8 / 1000 / f.seconds }

// cell is what Spool made of a rendition.
func (f studyFilm) cell(r result, plain point) string {
	return fmt.Sprintf("%.0f (%.2f), %.1f, **%.2f**", f.rate(r.point), r.bytes/plain.bytes, r.score, r.equal)
}

// means is the last row: of scores the mean and the standard deviation, of ratios the geometric mean.
func (s *study) means() string {
	var t strings.Builder
	t.WriteString("| **all** |")
	for i := range s.names {
		made := func(of func(studySize) result) string {
			part := s.each(i, func(z studySize) float64 { return of(z).bytes / z.plain.bytes })
			score := s.each(i, func(z studySize) float64 { return of(z).score })
			equal := s.each(i, func(z studySize) float64 { return of(z).equal })
			return fmt.Sprintf("(%.2f), %s, **%.2f**", geometricMean(part), meanAndDeviation(score), geometricMean(equal))
		}
		fmt.Fprintf(&t, " %s | %s | %s |", meanAndDeviation(s.each(i, func(z studySize) float64 { return z.plain.score })),
			made(func(z studySize) result { return z.h264 }), made(func(z studySize) result { return z.av1 }))
	}
	for i := range cpuColumns {
		var all []float64
		for _, f := range s.films {
			all = append(all, f.ofPlain()[i])
		}
		fmt.Fprintf(&t, " **%.2f** |", geometricMean(all))
	}
	t.WriteString("\n")
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
