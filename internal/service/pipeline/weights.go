package pipeline

import (
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
)

// decodeShare is what decoding a pixel costs, compared with encoding one.
const decodeShare = 0.1

// chunkWeight returns the weight of a chunk at one set of renditions. The whole chunk weighs its length, and
// each set has its part of it.
func chunkWeight(s video.Set) func(*video.Plan, int) float64 {
	return func(p *video.Plan, n int) float64 {
		small, large := setCost(p, video.FirstSet), 0.0
		if p.Early != nil && p.Early.Large > 0 {
			large = setCost(p, video.LargeSet)
		}
		length := max(p.Length(n).Seconds(), 0.1)
		if small+large == 0 {
			return length
		}
		return length * setCost(p, s) / (small + large)
	}
}

// setCost is what a second of a set of renditions costs, in pixels.
func setCost(p *video.Plan, s video.Set) float64 {
	part, _ := p.Only(s)
	pixels := decodeShare * float64(p.Input.CodedWidth) * float64(p.Input.CodedHeight)
	for _, r := range part.Renditions {
		if r.Making != video.Copied {
			pixels += float64(r.Width) * float64(r.Height)
		}
	}
	return pixels
}

// audioWeight returns the weight of a piece of the audio. A piece is encoded from the beginning, so a later one weighs more.
func audioWeight(p *video.Plan, task int) float64 {
	_, n := video.AudioOf(task)
	whole := 0.05 * p.Duration.Seconds()
	if n+1 == p.AudioPieces() {
		return whole
	}
	_, end := p.AudioPiece(n)
	return min(whole, 0.05*packetSeconds(end))
}

// clipLength is the longest duration of a video whose tasks run in the order of the table.
const clipLength = 30 * time.Second

func isClip(p *video.Plan) bool { return len(p.Chunks) == 1 && p.Duration <= clipLength }

// wantsPoster reports whether a pass has to make the poster: an earlier one may have done so.
func wantsPoster(v video.Video) bool {
	_, made := v.AutomaticPoster()
	return v.Plan.Poster != nil && !made
}

// headPriorityOf returns the priority of a task that a video needs before it can be played while it is
// encoded, or just after. It reports false for all others.
//
// The only chunk of a clip takes longer than all the rest of it: the rest is done beside it, and not
// before. All of it has the priority of the chunk, so that many clips are ready one after the other, and
// none of them waits until all are encoded.
func headPriorityOf(p *video.Plan, t queue.Task) (int, bool) {
	switch {
	case KindOf(t.Kind).Stage == Make && isClip(p):
		return encodePriority, true
	case p.Early == nil:
		return 0, false
	case t.Kind == queue.Encode && t.Number == 0, beginsAudio(t):
		return headPriority, true
	case t.Kind == queue.Poster: // pages show it before playback, and it slows down the first chunk less than the second chunk would
		return headPriority, true
	case t.Kind == queue.Encode && t.Number == 1: // before the thumbnails, which come later in the table
		return thumbnailPriority, true
	}
	return 0, false
}

// spareYield is how far the processes of spare tasks stand back, so that they hardly slow down other tasks.
const spareYield = 1.5

// Yield says how far the processes of a task stand back for others: 0 if a viewer or the rest of the work
// waits for this very task, spareYield for encodes in other codecs than H.264, and 1 otherwise.
func Yield(p *video.Plan, t queue.Task) float64 {
	switch {
	case KindOf(t.Kind).Stage == Inspect:
		return 0
	case KindOf(t.Kind).Codec != "":
		return spareYield
	case p != nil && p.Early != nil && (t.Number == 0 && t.Kind == queue.Encode || beginsAudio(t)):
		return 0
	}
	return 1
}

// beginsAudio reports whether a task makes the first piece of a sound track.
func beginsAudio(t queue.Task) bool {
	_, piece := video.AudioOf(t.Number)
	return t.Kind == queue.Audio && piece == 0
}

// audioPriorities returns the priority of a piece of the audio. The first lasts longer than the first chunks; the
// second is short, too, but those after it are not, and are needed later.
func audioPriorities(task int) int {
	_, n := video.AudioOf(task)
	switch n {
	case 0:
		return audioPriority
	case 1:
		return encodePriority + 2
	}
	return encodePriority + n + 2
}
