package plan

import (
	"math"
	"time"

	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

const (
	// smallSide is the shorter side of the renditions that are encoded first. They
	// take a fraction of the time of the large ones, so that a viewer does not
	// overtake the encoder.
	smallSide = 480
	// Encoders reorder frames by reorderDepth of them. By so much each frame is
	// decoded before its time, which has to be decided before all frames are
	// encoded, and should be short: some players ignore it. A video in which so
	// many frames take longer than maxDelay is not played early. The length that no
	// segment exceeds is announced beforehand, too, and no segment can end in the
	// middle of a frame.
	reorderDepth = 2
	maxDelay     = time.Second / 2
	// packetSamples is how many samples a packet of AAC has.
	packetSamples, audioRate = 1024, 48_000
	// firstPiece is the length of the first piece of the audio. Each further piece
	// ends at pieceGrowth times the time at which the one before did: every piece
	// is encoded from the beginning of the audio, which is what makes the joins
	// exact, and like this all of them together cost little more than the last.
	firstPiece  = 40 * time.Second
	pieceGrowth = 30
)

// playsEarly reports whether a video may be played while it is encoded.
func playsEarly(p *video.Plan, cut Chunking, line *probe.Timeline, limit frameLimit) bool {
	return cut.Early > 0 && p.Duration >= cut.Early && !line.Untimed && len(p.Jumps) == 0 &&
		p.Input.TimeBase.Seconds(longestReorder(line, limit)) <= maxDelay.Seconds()
}

// longestReorder returns how long the encoder may hold a frame back.
func longestReorder(line *probe.Timeline, limit frameLimit) (longest int64) {
	var kept []int64
	for i, pts := range line.Shown {
		if i > 0 && !limit.differ(line.Shown[i-1], pts, line.First) {
			continue
		}
		if kept = append(kept, pts); len(kept) > reorderDepth {
			longest = max(longest, pts-kept[0])
			kept = kept[1:]
		}
	}
	return longest
}

// divide decides in which order a video is made that is played meanwhile.
func divide(p *video.Plan, line *probe.Timeline, limit frameLimit) *video.Early {
	const rounding = 2 // ticks
	e := &video.Early{Large: len(p.Renditions) - 1}
	e.Delay = int64(math.Ceil(p.Input.TimeBase.Seconds(longestReorder(line, limit))*float64(p.Timescale))) + rounding
	for i, r := range p.Renditions {
		if min(r.Width, r.Height) <= smallSide {
			e.Large = i
			break
		}
	}
	if p.Audio == nil {
		return e
	}
	for at := firstPiece; at+firstPiece/2 < p.Duration; at *= pieceGrowth {
		e.Pieces = append(e.Pieces, int64(at.Seconds()*audioRate/packetSamples))
	}
	return e
}
