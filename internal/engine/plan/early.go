package plan

import (
	"math"
	"slices"
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
)

// pieceEnds are where the pieces of the audio end; after the last of them, each
// ends at pieceGrowth times the time at which the one before did. Every piece is
// encoded from the beginning of the audio, which is what makes the joins exact,
// and like this all of them together cost little more than the last. The first
// is short because a viewer waits for it, and the second is there before the
// first has been played.
var pieceEnds = []time.Duration{22 * time.Second, 110 * time.Second, 1100 * time.Second}

const pieceGrowth = 30

// playsEarly reports whether a video may be played while it is encoded.
func playsEarly(p *video.Plan, cut Chunking, line *probe.Timeline, limit frameLimit) bool {
	return cut.Early > 0 && p.Duration >= cut.Early && !line.Untimed && len(p.Jumps) == 0 &&
		p.Input.TimeBase.Seconds(longestReorder(slowest(p, limit.kept(line)))) <= maxDelay.Seconds()
}

// headOf decides how the first chunks of a video are cut. If the video is played
// early, they should be short even if the source has few keyframes: a chunk may
// begin at any frame, and what is between the keyframe before and that frame is
// decoded again. This needs a source with one packet per frame, whose times are
// in an order that seeking can rely on.
func headOf(p *video.Plan, cut Chunking, s probe.Stream, line *probe.Timeline, limit frameLimit) headCut {
	switch {
	case !playsEarly(p, cut, line, limit):
		return likeTheRest
	case onePacketPerFrame(s, line) && !line.Tangled && p.LongestSegment == 0:
		return atFrames
	}
	return atKeyframes
}

// longestReorder returns how long the encoder may hold one of these frames back.
func longestReorder(frames []int64) (longest int64) {
	for i := reorderDepth; i < len(frames); i++ {
		longest = max(longest, frames[i]-frames[i-reorderDepth])
	}
	return longest
}

// divide decides in which order a video is made that is played meanwhile.
func divide(p *video.Plan, line *probe.Timeline, limit frameLimit) *video.Early {
	const rounding = 2 // ticks
	e := &video.Early{Large: len(p.Renditions) - 1}
	e.Delay = int64(math.Ceil(p.Input.TimeBase.Seconds(longestReorder(slowest(p, limit.kept(line))))*float64(p.Timescale))) + rounding
	for i, r := range p.Renditions {
		if min(r.Width, r.Height) <= smallSide {
			e.Large = i
			break
		}
	}
	if !slices.ContainsFunc(p.Renditions[:e.Large], func(r video.Rendition) bool { return r.Making == video.Encoded }) {
		e.Large = 0 // copying is no work, and all frames are decoded for the small ones
	}
	if p.Audio == nil {
		return e
	}
	e.Pieces = audioPieces(p.Duration)
	return e
}

// audioPieces returns the packets at which the pieces of the audio begin, but for
// the first one. A short rest is part of the last piece.
func audioPieces(length time.Duration) (packets []int64) {
	for n, at := 0, pieceEnds[0]; at+pieceEnds[0]/2 < length; n++ {
		packets = append(packets, int64(at.Seconds()*audioRate/packetSamples))
		if n+1 < len(pieceEnds) {
			at = pieceEnds[n+1]
		} else {
			at *= pieceGrowth
		}
	}
	return packets
}
