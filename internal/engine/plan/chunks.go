package plan

import (
	"time"

	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

// Chunking says how a video is cut into chunks. Chunks of ten seconds and more
// cost no more than encoding the whole; shorter ones do. See the package comment
// for why chunks get shorter towards the end.
type Chunking struct {
	Length  time.Duration // a chunk ends at the first keyframe after this long,
	Parts   int64         // or, if that is sooner, after this fraction of what is left,
	Min     time.Duration // but not before this long
	Whole   time.Duration // a shorter video is one chunk
	MinLast time.Duration // a shorter last chunk is joined to the one before
}

// DefaultChunking is what workers use.
var DefaultChunking = Chunking{Length: 20 * time.Second, Parts: 8, Min: 10 * time.Second, Whole: 30 * time.Second, MinLast: 5 * time.Second}

// chunks cuts a video at keyframes. A video whose container does not seek
// exactly, or whose frames have no times, is one chunk.
//
// Under a frame-rate limit, a chunk begins only at a frame that is kept.
func (c Chunking) chunks(line *probe.Timeline, tb video.Ratio, reliable bool, limit frameLimit) []video.Chunk {
	out := []video.Chunk{{Start: line.First, End: video.Forever, Seek: video.NoSeek}}
	ticks := func(d time.Duration) int64 { return int64(tb.Ticks(d.Seconds())) }
	end := line.Last + line.LastDuration
	if !reliable || line.Untimed || end-line.First < ticks(c.Whole) {
		return out
	}
	for _, k := range line.Keys {
		start := out[len(out)-1].Start
		length := max(ticks(c.Min), min(ticks(c.Length), (end-start)/c.Parts))
		if !k.Border || k.PTS-start < length || k.PTS <= start || !limit.keeps(k.PTS, line) {
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

// countFrames notes on each chunk how many frames it should have.
func countFrames(chunks []video.Chunk, line *probe.Timeline, limit frameLimit) {
	n, before := 0, int64(0)
	for i, pts := range line.Shown {
		for n+1 < len(chunks) && pts >= chunks[n].End {
			n++
		}
		if i == 0 || limit.differ(before, pts, line.First) {
			chunks[n].Frames++
		}
		before = pts
	}
}
