package plan

import (
	"time"

	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

const (
	// smallSide is the shorter side of the renditions that are encoded first. They
	// take a fraction of the time of the large ones, so that a viewer does not
	// overtake the encoder.
	smallSide = 480
	// maxFrameGap is how long a frame may be shown in a video that plays while it
	// is encoded. A segment cannot end before the next frame, and the length that
	// no segment exceeds is announced before all of them are known.
	maxFrameGap = time.Second
	// packetSamples is how many samples a packet of AAC has.
	packetSamples, audioRate = 1024, 48_000
	// firstPiece is the length of the first piece of the audio. Each further piece
	// ends at pieceGrowth times the time at which the one before did: every piece
	// is encoded from the beginning of the audio, which is what makes the joins
	// exact, and like this all of them together cost little more than the last.
	firstPiece  = 30 * time.Second
	pieceGrowth = 8
)

// playsEarly reports whether a video may be played while it is encoded.
func playsEarly(p *video.Plan, cut Chunking, line *probe.Timeline) bool {
	if cut.Early <= 0 || p.Duration < cut.Early || line.Untimed || len(p.Jumps) > 0 {
		return false
	}
	longest := int64(p.Input.TimeBase.Ticks(maxFrameGap.Seconds()))
	for i := 1; i < len(line.Shown); i++ {
		if line.Shown[i]-line.Shown[i-1] > longest {
			return false
		}
	}
	return true
}

// divide decides in which order a video is made that is played meanwhile.
func divide(p *video.Plan) *video.Early {
	e := &video.Early{Large: len(p.Renditions) - 1}
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
