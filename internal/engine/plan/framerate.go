package plan

import (
	"math"

	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

const (
	maxRate    = 60   // the highest frame rate of the outputs
	SlotOffset = 0.11 // of a beat
)

// pace thins out films that are faster than maxRate anywhere. Time is divided
// into beats of a sixtieth of a second, and of the frames within a beat only the
// first passes. None is moved, so that those that pass keep their exact times;
// and which pass depends on nothing but their times, so that chunks agree.
//
// The first frame lies early in its beat. Times that tremble about sixtieths of
// a second, as rounded ones do, still stay apart; and where a film has several
// frames to a beat, the one on the beat is the first, so that keyframes at whole
// seconds pass and chunks can begin there.
type frameLimit struct {
	tb    video.Ratio
	limit int // beats a second; 0 lets all pass
}

// paceOf finds out whether a film has to be thinned out: some of its beats hold
// two frames, or more than a trembling camera can explain.
func newFrameLimit(line *probe.Timeline, tb video.Ratio) frameLimit {
	p := frameLimit{tb: tb, limit: maxRate}
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
	if within == 0 || rate <= maxRate && !fastAnywhere(line, tb) {
		p.limit = 0
	}
	return p
}

// fastAnywhere reports whether some second of the film holds more frames than
// maxRate.
func fastAnywhere(line *probe.Timeline, tb video.Ratio) bool {
	second := tb.Ticks(0.99) // a camera trembles
	for i := maxRate; i < len(line.Shown); i++ {
		if float64(line.Shown[i]-line.Shown[i-maxRate]) < second {
			return true
		}
	}
	return false
}

// differ reports whether two frames are in different beats.
func (p frameLimit) differ(a, b, first int64) bool {
	return p.limit == 0 || p.slot(a-first) != p.slot(b-first)
}

func (p frameLimit) slot(ticks int64) float64 {
	return math.Floor(p.tb.Seconds(ticks)*float64(p.limit) + SlotOffset)
}

// passes reports whether the frame at pts is the first of its beat.
func (p frameLimit) keeps(pts int64, line *probe.Timeline) bool {
	n := line.CountUpTo(pts)
	return n < 2 || p.differ(line.Shown[n-2], pts, line.First)
}
