package plan

import (
	"time"

	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

// Chunking says how a film is cut into chunks. Chunks of ten seconds and more
// cost nothing against encoding the film as a whole; shorter ones do.
//
// Towards its end a film is cut finer: while the last chunk is encoded, every
// other worker has nothing left to do for the film, so the last chunks should be
// short. In its midst longer ones spare tasks.
type Chunking struct {
	Length  time.Duration // a chunk ends at the first keyframe after this long,
	Parts   int64         // or, when that is sooner, after one of so many equal parts of what is left,
	Min     time.Duration // but not before this long
	Whole   time.Duration // a film shorter than this is not cut
	MinLast time.Duration // a last chunk shorter than this joins its predecessor
}

// DefaultChunking is what workers use.
var DefaultChunking = Chunking{Length: 20 * time.Second, Parts: 8, Min: 10 * time.Second, Whole: 30 * time.Second, MinLast: 5 * time.Second}

// chunks cuts a film at keyframes. A film whose container cannot be trusted to
// seek exactly, or whose frames carry no times, is one chunk.
//
// paced is where the frames pass that a limit of the frame rate leaves: a chunk
// must not begin in the midst of frames of which only the first passes.
func (c Chunking) chunks(line *probe.Timeline, tb video.Ratio, reliable bool, paced frameLimit) []video.Chunk {
	out := []video.Chunk{{Start: line.First, End: video.Forever, Seek: video.NoSeek}}
	ticks := func(d time.Duration) int64 { return int64(tb.Ticks(d.Seconds())) }
	end := line.Last + line.LastDuration
	if !reliable || line.Untimed || end-line.First < ticks(c.Whole) {
		return out
	}
	for _, k := range line.Keys {
		start := out[len(out)-1].Start
		length := max(ticks(c.Min), min(ticks(c.Length), (end-start)/c.Parts))
		if !k.Border || k.PTS-start < length || k.PTS <= start || !paced.keeps(k.PTS, line) {
			continue
		}
		if end-k.PTS < ticks(c.MinLast) {
			break
		}
		out[len(out)-1].End = k.PTS
		out = append(out, video.Chunk{Start: k.PTS, End: video.Forever, Seek: line.SeekTo(k.PTS, 0)})
	}
	return out
}

// count notes on each chunk how many frames it should turn out to have.
func countFrames(chunks []video.Chunk, line *probe.Timeline, paced frameLimit) {
	n, before := 0, int64(0)
	for i, pts := range line.Shown {
		for n+1 < len(chunks) && pts >= chunks[n].End {
			n++
		}
		if i == 0 || paced.differ(before, pts, line.First) {
			chunks[n].Frames++
		}
		before = pts
	}
}
