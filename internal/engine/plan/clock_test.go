package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

func TestContinuousClock(t *testing.T) {
	t.Parallel()
	ms := video.Ratio{Num: 1, Den: 1000}
	line := probe.NewTimeline()
	add := func(pts, dts int64, key bool) {
		flags := "__"
		if key {
			flags = "K_"
		}
		line.Add(probe.Packet{Type: "video", PTS: pts, DTS: dts, Duration: 40, Flags: flags})
	}
	for i := range int64(3) {
		add(5000+40*i, 5000+40*i, i == 0)
	}
	add(5110, 5110, false) // jitter
	for i := range int64(3) {
		add(40*i, 40*i, i == 0)
	}
	jumps := realJumps(line.Jumps(), ms, false)
	shifts := jumpShifts(jumps, ms, []probe.Jump{{End: 5200, Start: 10}}, ms)
	if diff := cmp.Diff([]float64{5.2}, shifts); diff != "" {
		t.Fatalf("shifts (-want +got):\n%s", diff)
	}
	line.Shift(jumps, []int64{5200})
	line.Sort()
	if diff := cmp.Diff([]int64{5000, 5040, 5080, 5110, 5200, 5240, 5280}, line.Shown); diff != "" {
		t.Errorf("frames are shown at (-want +got):\n%s", diff)
	}
	if !line.Untimed {
		t.Error("a video whose clock jumps must not be cut")
	}
}

func TestLongSilencesAreFound(t *testing.T) {
	t.Parallel()
	line := probe.NewTimeline()
	for _, at := range []int64{30_000, 30_020, 30_040, 100_000, 100_020, 101_000, 105_500} {
		line.Add(probe.Packet{Type: "audio", PTS: at, DTS: at, Duration: 20, Flags: "K_"})
	}
	got := silences(line, func(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond })
	want := []video.Silence{{To: 30 * time.Second}, {From: 30_060 * time.Millisecond, To: 100 * time.Second}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("silences (-want +got):\n%s", diff)
	}
}
