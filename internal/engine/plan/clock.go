package plan

import (
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

const (
	// A clock that falls back by less trembles, which the filters smooth out.
	JumpBack  = 0.5
	JumpAhead = 10.0
)

// realJumps returns the jumps that are large enough to matter.
func realJumps(jumps []probe.Jump, tb video.Ratio, leaps bool) []probe.Jump {
	var out []probe.Jump
	for _, j := range jumps {
		step := tb.Seconds(j.Start) - tb.Seconds(j.End)
		if step < -JumpBack || leaps && step > JumpAhead {
			out = append(out, j)
		}
	}
	return out
}

// joined returns, for each jump, the seconds by which what follows it has to be
// moved to begin when all that precedes it has ended. Sound jumps together with
// the pictures, or its jumps do not count.
func jumpShifts(pictures []probe.Jump, tb video.Ratio, sound []probe.Jump, soundBase video.Ratio) []float64 {
	var out []float64
	shift := 0.0
	for i, j := range pictures {
		end, start := tb.Seconds(j.End), tb.Seconds(j.Start)
		if len(sound) == len(pictures) {
			end = max(end, soundBase.Seconds(sound[i].End))
			start = min(start, soundBase.Seconds(sound[i].Start))
		}
		shift += end - start
		out = append(out, shift)
	}
	return out
}
