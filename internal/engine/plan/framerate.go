package plan

import (
	"math"

	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

const maxRate = 60 // the highest frame rate of the outputs

// frameLimit reduces the frame rate of videos that exceed maxRate anywhere. Time
// is divided into slots of a sixtieth of a second, and only the first frame of a
// slot is kept. No frame is moved, so the kept ones have their exact times; and
// which are kept depends on nothing but their times, so chunks agree.
//
// The first frame is near the beginning of its slot. Times that jitter about
// sixtieths of a second, as rounded ones do, still fall into different slots;
// and where a slot has several frames, the one at its nominal time is the first,
// so that keyframes at whole seconds are kept and chunks can begin there.
type frameLimit struct {
	tb    video.Ratio
	limit int // slots a second; 0 keeps all frames
}

// newFrameLimit finds out whether a video needs a limit of so many frames a second: some slots hold two
// frames, and there are more frames than the jitter of a camera explains.
func newFrameLimit(line *probe.Timeline, tb video.Ratio, most int) frameLimit {
	p := frameLimit{tb: tb, limit: most}
	within := 0
	for i := range line.Shown {
		if i > 0 && !p.differ(line.Shown[i-1], line.Shown[i], line.First) {
			within++
		}
	}
	rate := 0.0
	if span := line.Span(tb); span > 0 {
		rate = float64(len(line.Shown)-1) / span
	}
	if within == 0 || rate <= float64(most) && !fastAnywhere(line, tb, most) {
		p.limit = 0
	}
	return p
}

// fastAnywhere reports whether some second of the video holds more frames than
// so many.
func fastAnywhere(line *probe.Timeline, tb video.Ratio, most int) bool {
	second := tb.Ticks(0.99) // cameras jitter
	for i := most; i < len(line.Shown); i++ {
		if float64(line.Shown[i]-line.Shown[i-most]) < second {
			return true
		}
	}
	return false
}

// differ reports whether two frames are in different slots.
func (p frameLimit) differ(a, b, first int64) bool {
	return p.limit == 0 || p.slot(a-first) != p.slot(b-first)
}

func (p frameLimit) slot(ticks int64) float64 {
	return math.Floor(p.tb.Seconds(ticks)*float64(p.limit) + video.SlotOffset)
}

// keeps reports whether the frame at pts is the first of its slot.
func (p frameLimit) keeps(pts int64, line *probe.Timeline) bool {
	n := line.CountUpTo(pts)
	return n < 2 || p.differ(line.Shown[n-2], pts, line.First)
}

// kept returns the frames that are the first of their slots.
func (p frameLimit) kept(line *probe.Timeline) (all []int64) {
	for i, pts := range line.Shown {
		if i == 0 || p.differ(line.Shown[i-1], pts, line.First) {
			all = append(all, pts)
		}
	}
	return all
}
