package pipeline

import (
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
)

// decodeShare is what decoding a pixel costs, compared with encoding one.
const decodeShare = 0.1

// chunkWeight returns the weight of a chunk at one set of renditions: that of the whole chunk is its
// length, of which each set has its part.
func chunkWeight(s video.Set) func(*video.Plan, int) float64 {
	return func(p *video.Plan, n int) float64 {
		small, large := setCost(p, video.FirstSet), 0.0
		if p.Early != nil && p.Early.Large > 0 {
			large = setCost(p, video.LargeSet)
		}
		part := small
		if s == video.LargeSet {
			part = large
		}
		length := max(p.Length(n).Seconds(), 0.1)
		if small+large == 0 {
			return length
		}
		return length * part / (small + large)
	}
}

// setCost is what a second of a set of renditions costs, in pixels.
func setCost(p *video.Plan, s video.Set) float64 {
	part, _ := p.Only(s)
	pixels := decodeShare * float64(p.Input.CodedWidth) * float64(p.Input.CodedHeight)
	for _, r := range part.Renditions {
		pixels += float64(r.Width) * float64(r.Height)
	}
	return pixels
}

// audioWeight is that of a piece of the audio: of the last one, nearly all of it.
func audioWeight(p *video.Plan, n int) float64 {
	whole := 0.05 * p.Duration.Seconds()
	if n+1 == p.AudioPieces() {
		return whole
	}
	_, end := p.AudioPiece(n)
	return min(whole, 0.05*packetSeconds(end))
}

// needsFirst reports whether a video can be played while it is encoded only after this task.
func needsFirst(p *video.Plan, t queue.Task) bool {
	return p.Early != nil && (t.Kind == queue.Encode && t.Number < 2 || t.Kind == queue.Audio && t.Number == 0)
}

// audioPriorities are those of the pieces of the audio. The further ones are needed later than the
// first chunks.
func audioPriorities(n int) int {
	if n == 0 {
		return audioPriority
	}
	return encodePriority + n
}
