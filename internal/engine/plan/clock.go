package plan

import (
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

const (
	// JumpBack is by how many seconds a clock falls back at a jump. Smaller
	// steps are jitter, which the filters smooth out.
	JumpBack = 0.5
	// JumpAhead is by how many seconds it leaps forward, in containers whose
	// clock leaps.
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

// jumpShifts returns, for each jump, the seconds by which what follows it has to
// be moved to begin when everything before it has ended. The audio jumps
// together with the video, or its jumps are ignored.
func jumpShifts(videoJumps []probe.Jump, tb video.Ratio, audioJumps []probe.Jump, audioBase video.Ratio) []float64 {
	var out []float64
	shift := 0.0
	for i, j := range videoJumps {
		end, start := tb.Seconds(j.End), tb.Seconds(j.Start)
		if len(audioJumps) == len(videoJumps) {
			end = max(end, audioBase.Seconds(audioJumps[i].End))
			start = min(start, audioBase.Seconds(audioJumps[i].Start))
		}
		shift += end - start
		out = append(out, shift)
	}
	return out
}
