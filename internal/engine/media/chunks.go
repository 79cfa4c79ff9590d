package media

import (
	"time"

	"github.com/spool-video/spool/internal/video"
)

// cutting says how a film is cut into chunks. Chunks of ten seconds and more
// cost nothing against encoding the film as a whole; shorter ones do.
//
// Towards its end a film is cut finer: while the last chunk is encoded, every
// other worker has nothing left to do for the film, so the last chunks should be
// short. In its midst longer ones spare tasks.
type cutting struct {
	chunk time.Duration // a chunk ends at the first keyframe after this long,
	parts int64         // or, when that is sooner, after one of so many equal parts of what is left,
	least time.Duration // but not before this long
	whole time.Duration // a film shorter than this is not cut
	rest  time.Duration // a last chunk shorter than this joins its predecessor
}

var defaultCutting = cutting{chunk: 20 * time.Second, parts: 8, least: 10 * time.Second, whole: 30 * time.Second, rest: 5 * time.Second}

// chunks cuts a film at keyframes. A film whose container cannot be trusted to
// seek exactly, or whose frames carry no times, is one chunk.
//
// paced is where the frames pass that a limit of the frame rate leaves: a chunk
// must not begin in the midst of frames of which only the first passes.
func (c cutting) chunks(line *timeline, tb video.Ratio, reliable bool, paced pace) []video.Chunk {
	out := []video.Chunk{{Start: line.first, End: video.Forever, Seek: video.NoSeek}}
	ticks := func(d time.Duration) int64 { return int64(tb.Ticks(d.Seconds())) }
	end := line.last + line.lastTick
	if !reliable || line.untimed || end-line.first < ticks(c.whole) {
		return out
	}
	for _, k := range line.keys {
		start := out[len(out)-1].Start
		length := max(ticks(c.least), min(ticks(c.chunk), (end-start)/c.parts))
		if !k.border || k.pts-start < length || k.pts <= start || !paced.passes(k.pts, line) {
			continue
		}
		if end-k.pts < ticks(c.rest) {
			break
		}
		out[len(out)-1].End = k.pts
		out = append(out, video.Chunk{Start: k.pts, End: video.Forever, Seek: line.seekTo(k.pts, 0)})
	}
	return out
}

// count notes on each chunk how many frames it should turn out to have.
func count(chunks []video.Chunk, line *timeline, paced pace) {
	n, before := 0, int64(0)
	for i, pts := range line.shown {
		for n+1 < len(chunks) && pts >= chunks[n].End {
			n++
		}
		if i == 0 || paced.differ(before, pts, line.first) {
			chunks[n].Frames++
		}
		before = pts
	}
}
