package plan

import (
	"testing"

	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

func TestPeakBitrate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		line *probe.Timeline
		want float64
	}{
		{"an even video", film(1000, 1000, 1000, 1000, 1000, 1000), 8000},
		{"five wild seconds", film(100, 100, 100, 100, 100, 1000, 1000, 1000, 1000, 1000, 100, 100, 100, 100, 100), 8000},
		{"a single large frame is spread", film(100, 100, 5000, 100, 100, 100, 100, 100, 100, 100), 8640},
		{"a rest joins the stretch before", film(1000, 1000, 1000, 1000, 1000, 7000), 16000},
		{"a clip of one second", film(1000), 8000},
		{"no keyframe at all", probe.NewTimeline(), 0},
	}
	for _, tt := range tests {
		if got := peakBitrate(tt.line, video.Ratio{Num: 1, Den: 1000}); got != tt.want {
			t.Errorf("%s: %g bit/s; want %g", tt.name, got, tt.want)
		}
	}
}
