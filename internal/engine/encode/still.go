package encode

import (
	"fmt"
	"math"

	"github.com/spool-video/spool/internal/video"
)

// stillFrames are the filters that make the frames of chunk n of the one picture of a still, or "" for another plan. They
// come last, so the picture is scaled once, and each frame costs its encoding alone.
func stillFrames(p *video.Plan, n int) string {
	if !p.IsStill() {
		return ""
	}
	from, to := stillSpan(p, n)
	return fmt.Sprintf("loop=loop=%d:size=1,settb=1/%d,setpts='round((N+%d)*%d/%d)'", to-from-1, p.Timescale, from, p.Timescale, video.StillRate)
}

// stillSpan returns the numbers of the first frame of chunk n and of the first one behind it, counted from the beginning
// of the video.
func stillSpan(p *video.Plan, n int) (from, to int) {
	number := func(pts int64) int {
		return int(math.Round(p.Input.TimeBase.Seconds(pts-p.FirstPTS) * video.StillRate))
	}
	c := p.Chunks[n]
	if from = number(c.Start); c.End != video.Forever {
		return from, max(number(c.End), from+1)
	}
	const rounding = 0.01 // of a frame
	return from, max(int(math.Ceil(p.Duration.Seconds()*video.StillRate-rounding)), from+1)
}
