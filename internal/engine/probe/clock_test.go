package probe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTimesAreGuessedFromTheOrderOfDecoding(t *testing.T) {
	t.Parallel()
	line := NewTimeline()
	// As in an MPEG program stream: I P B B P B B, where only some packets say
	// when they are shown.
	for i, pts := range []int64{1, unknown, 2, 3, unknown, 5, 6} {
		flags := "__"
		if i == 0 {
			flags = "K_"
		}
		line.Add(Packet{Type: "video", PTS: pts, DTS: int64(i), Duration: 1, Flags: flags})
	}
	line.Sort()
	if diff := cmp.Diff([]int64{1, 2, 3, 4, 5, 6, 7}, line.Shown); diff != "" {
		t.Errorf("frames are shown at (-want +got):\n%s", diff)
	}
}
