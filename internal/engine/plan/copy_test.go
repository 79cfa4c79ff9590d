package plan

import (
	"slices"
	"testing"
	"time"

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

// Where the segments of a copy begin is one argument of ffmpeg, and the kernel limits how long that may be.
func TestAVideoOfMoreThanTwelveHoursIsNotCopied(t *testing.T) {
	t.Parallel()
	for length, want := range map[time.Duration]bool{11 * time.Hour: false, 13 * time.Hour: true} {
		line := &probe.Timeline{}
		for at := int64(0); at < int64(length/time.Second); at += 2 {
			line.Keys = append(line.Keys, probe.Keyframe{PTS: at * 1000, Border: true})
		}
		s := source{found: &probe.Result{Timelines: map[int]*probe.Timeline{0: line}}, stream: probe.Stream{Profile: "High", Level: 40}, line: line}
		p := &video.Plan{Duration: length, Input: video.Input{Codec: "h264", PixelFormat: "yuv420p", TimeBase: video.Ratio{Num: 1, Den: 1000}}}
		if got := slices.Contains(s.copyReasons(p, Request{CopySource: true}), video.CopyKeyframes); got != want {
			t.Errorf("%s: not copied for its keyframes: %t, want %t", length, got, want)
		}
	}
}
