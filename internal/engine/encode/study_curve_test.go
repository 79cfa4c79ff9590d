package encode

import (
	"math"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/video"
)

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

func TestStudyReplacesItsOwnLines(t *testing.T) {
	t.Parallel()
	page := "before\n" + studyBegin + "\nold\n" + studyEnd + "\nafter\n"
	want := "before\n" + studyBegin + "\nnew\n" + studyEnd + "\nafter\n"
	if got, err := replaceBetween(page, studyBegin, studyEnd, "\nnew\n"); err != nil || got != want {
		t.Errorf("replaceBetween = %q, %v; want %q", got, err, want)
	}
	for _, bad := range []string{"", studyBegin, studyEnd + studyBegin} {
		if _, err := replaceBetween(bad, studyBegin, studyEnd, "new"); err == nil {
			t.Errorf("a page %q was written to", bad)
		}
	}
}

func TestTablesOfTheStudy(t *testing.T) {
	t.Parallel()
	size := studySize{plain: point{200, 90}, h264: result{point{150, 90}, 0.75}, av1: result{point{50, 85}, 0.5}}
	s := &study{rate: rater{name: "VMAF"}, names: []video.Name{"480p"}, films: []studyFilm{{
		name: "dog", seconds: 2, sizes: []studySize{size},
		trial: cost{cpu: 1e9}, h264: cost{cpu: 3e9}, av1: cost{cpu: 1e9}, plain: cost{cpu: 2e9},
	}}}
	for _, want := range []string{
		"| dog | 1, 90.0 | 1 (0.75), 90.0, **0.75** | 0 (0.25), 85.0, **0.50** | 0.50 | 1.50 | 0.50 | 2.00 | 2.50 |",
		"| **all** | 90.0 ± 0.0 | (0.75), 90.0 ± 0.0, **0.75** | (0.25), 85.0 ± 0.0, **0.50** | **0.50** | **1.50** | **0.50** | **2.00** | **2.50** |",
	} {
		if got := s.delivered("5.1"); !strings.Contains(got, want) {
			t.Errorf("the table is\n%s\nwithout %s", got, want)
		}
	}
	s.options = []optionResult{{optionSets[0].name, 0, 0.5, 2}, {optionSets[0].name, 0, 2, 2}}
	if got, want := s.optionTable(), "| x264 veryfast | 1.00 | 2.00 × |"; !strings.Contains(got, want) {
		t.Errorf("the options are\n%s\nwithout %s", got, want)
	}
}
