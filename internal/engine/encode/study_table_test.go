package encode

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// point is an encode: its bytes, and how good it looks.
type point struct{ bytes, score float64 }

// curve is one encoder at several CRF.
type curve []point

// bytesAt is how many bytes an encoder takes for a score, interpolated between the two encodes around
// it: over a few points the logarithm of the bytes is nearly linear in the score. Beyond the ends it
// goes on straight.
func (c curve) bytesAt(score float64) float64 {
	all := slices.SortedFunc(slices.Values(c), func(a, b point) int { return int(math.Copysign(1, a.bytes-b.bytes)) })
	i := 1
	for i < len(all)-1 && all[i].score < score {
		i++
	}
	low, high := all[i-1], all[i]
	if high.score <= low.score { // more bytes, and no better: the cheaper one is as good
		return low.bytes
	}
	return low.bytes * math.Pow(high.bytes/low.bytes, (score-low.score)/(high.score-low.score))
}

// The study writes between these lines of its page.
const (
	studyBegin = "<!-- study: written by make study; do not edit -->"
	studyEnd   = "<!-- study: end -->"
)

// write replaces what the last study wrote into a page.
func (s *study) write(path, version string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(page), studyBegin)
	_, after, both := strings.Cut(rest, studyEnd)
	if !ok || !both {
		return fmt.Errorf("%s has no lines %q and %q", path, studyBegin, studyEnd)
	}
	text := fmt.Sprintf("ffmpeg %s, %d seconds of each clip.\n", version, *benchSeconds)
	for size := range studyNames {
		text += "\n" + s.table(size)
	}
	return os.WriteFile(path, []byte(before+studyBegin+"\n"+text+studyEnd+after), 0o644)
}

// table compares all ways at one size.
func (s *study) table(size int) string {
	var t strings.Builder
	fmt.Fprintf(&t, "| %s |", studyNames[size])
	for _, w := range studyWays {
		fmt.Fprintf(&t, " %s |", w.name)
	}
	t.WriteString("\n|" + strings.Repeat("---|", 1+len(studyWays)) + "\n")
	sums := make([]sum, len(studyWays))
	for _, f := range s.films {
		if f.size != size {
			continue
		}
		fmt.Fprintf(&t, "| %s |", f.clip)
		for i, w := range f.ways {
			plain, own := f.ways[0], w.curve[0]
			part, equal := own.bytes/plain.curve[0].bytes, own.bytes/plain.curve.bytesAt(own.score)
			sums[i].add(part, equal, w.cpu/plain.cpu, own.score)
			if i == 0 {
				fmt.Fprintf(&t, " %.0f, %.1f |", own.bytes*8/1000/f.seconds, own.score)
			} else {
				fmt.Fprintf(&t, " %.2f, %.1f, **%.2f** |", part, own.score, equal)
			}
		}
		t.WriteString("\n")
	}
	t.WriteString("| **all** |")
	for i, x := range sums {
		if i == 0 {
			fmt.Fprintf(&t, " %s |", x.scores())
		} else {
			fmt.Fprintf(&t, " %.2f, %s, **%.2f**, CPU × %.1f |", geometricMean(x.parts), x.scores(), geometricMean(x.equals), geometricMean(x.cpus))
		}
	}
	return t.String() + "\n"
}

// sum collects what one way made of all clips.
type sum struct{ parts, equals, cpus, all []float64 }

func (x *sum) add(part, equal, cpu, score float64) {
	x.parts, x.equals, x.cpus, x.all = append(x.parts, part), append(x.equals, equal), append(x.cpus, cpu), append(x.all, score)
}

// scores is the mean and the standard deviation.
func (x *sum) scores() string {
	var all, squares float64
	for _, v := range x.all {
		all += v
	}
	mean := all / float64(len(x.all))
	for _, v := range x.all {
		squares += (v - mean) * (v - mean)
	}
	return fmt.Sprintf("%.1f ± %.1f", mean, math.Sqrt(squares/float64(len(x.all))))
}

func geometricMean(all []float64) float64 {
	logs := 0.0
	for _, x := range all {
		logs += math.Log(x)
	}
	return math.Exp(logs / float64(len(all)))
}

func TestBytesAtAScore(t *testing.T) {
	t.Parallel()
	c := curve{{400, 95}, {100, 85}, {200, 90}} // twice the bytes for five points
	tests := []struct{ score, want float64 }{
		{85, 100}, {90, 200}, {95, 400}, {87.5, 141.4}, {92.5, 282.8},
		{80, 50}, {100, 800}, // beyond the ends
	}
	for _, tt := range tests {
		if got := c.bytesAt(tt.score); math.Abs(got-tt.want) > 0.1 {
			t.Errorf("bytesAt(%g) = %.1f; want %.1f", tt.score, got, tt.want)
		}
	}
	if got := (curve{{100, 99}, {200, 99}}).bytesAt(99.5); got != 100 {
		t.Errorf("a curve that gets no better takes %g bytes; want those of its cheapest encode", got)
	}
}

func TestTableOfTheStudy(t *testing.T) {
	t.Parallel()
	film := studyFilm{clip: "dog", seconds: 2, ways: []studyResult{{curve{{200, 90}, {100, 80}}, 2}}}
	for range studyWays[1:] {
		film.ways = append(film.ways, studyResult{curve{{50, 80}}, 3})
	}
	got := (&study{films: []studyFilm{film}}).table(0)
	for _, want := range []string{"| dog | 1, 90.0 | 0.25, 80.0, **0.50** |", "| **all** | 90.0 ± 0.0 | 0.25, 80.0 ± 0.0, **0.50**, CPU × 1.5 |"} {
		if !strings.Contains(got, want) {
			t.Errorf("the table is\n%s\nwithout %s", got, want)
		}
	}
}
