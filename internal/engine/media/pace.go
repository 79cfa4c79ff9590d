package media

import (
	"fmt"
	"math"

	"github.com/spool-video/spool/internal/video"
)

const (
	maxRate = 60   // the highest frame rate of the outputs
	early   = 0.11 // of a beat
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
type pace struct {
	tb    video.Ratio
	limit int // beats a second; 0 lets all pass
}

// paceOf finds out whether a film has to be thinned out: some of its beats hold
// two frames, or more than a trembling camera can explain.
func paceOf(line *timeline, tb video.Ratio) pace {
	p := pace{tb: tb, limit: maxRate}
	within := 0
	for i := range line.shown {
		if i > 0 && !p.differ(line.shown[i-1], line.shown[i], line.first) {
			within++
		}
	}
	rate := 0.0
	if span := line.span(tb); span > 0 {
		rate = float64(len(line.shown)-1) / span
	}
	if within == 0 || rate <= maxRate && !fastAnywhere(line, tb) {
		p.limit = 0
	}
	return p
}

// fastAnywhere reports whether some second of the film holds more frames than
// maxRate.
func fastAnywhere(line *timeline, tb video.Ratio) bool {
	second := tb.Ticks(0.99) // a camera trembles
	for i := maxRate; i < len(line.shown); i++ {
		if float64(line.shown[i]-line.shown[i-maxRate]) < second {
			return true
		}
	}
	return false
}

// differ reports whether two frames are in different beats.
func (p pace) differ(a, b, first int64) bool {
	return p.limit == 0 || p.beat(a-first) != p.beat(b-first)
}

func (p pace) beat(ticks int64) float64 {
	return math.Floor(p.tb.Seconds(ticks)*float64(p.limit) + early)
}

// passes reports whether the frame at pts is the first of its beat.
func (p pace) passes(pts int64, line *timeline) bool {
	n := line.countUpTo(pts)
	return n < 2 || p.differ(line.shown[n-2], pts, line.first)
}

// paceFilter lets the first frame of every beat pass.
func paceFilter(limit int) string {
	return fmt.Sprintf("select='isnan(prev_selected_t)+gt(floor(t*%[1]d+%[2]g),floor(prev_selected_t*%[1]d+%[2]g))'", limit, early)
}
