package plan

import (
	"slices"
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
	Early   time.Duration // a video of this length can be played while it is encoded:
	Head    headBorders   // where its first chunks end, unless they would be longer than Length
}

// headBorders are times since the beginning of a video. The first chunk is the
// shortest of which players get two segments; further ones are there before a
// viewer has seen those before them, on a machine that is not much faster than
// people watch and makes two at a time. Most end two seconds into a segment, at a keyframe that the
// outputs have anyway.
type headBorders [9]time.Duration

var defaultHead = headBorders{
	9250 * time.Millisecond, 14 * time.Second, 22 * time.Second, 26 * time.Second, 30 * time.Second, 38 * time.Second,
	46 * time.Second, 58 * time.Second, 70 * time.Second,
}

// DefaultChunking is what workers use.
var DefaultChunking = Chunking{Length: 20 * time.Second, Parts: 8, Min: 10 * time.Second, Whole: 30 * time.Second, MinLast: 5 * time.Second,
	Early: time.Minute, Head: defaultHead}

// maxChunkPixels is about how much one chunk may encode: 20 s of all sizes up to 4k at 30 frames a
// second. That takes some minutes. Chunks of larger or faster videos are shorter, so that tenants who
// take turns on few workers wait no longer for them, and a task that is interrupted loses no more.
const maxChunkPixels = 10e9

// minShare is the shortest that a chunk gets for that reason: a quarter. Each chunk begins with a
// keyframe, and very short ones would cost too much.
const minShare = 0.25

// forPixels returns chunks that are shorter if so many pixels a second are encoded.
func (c Chunking) forPixels(perSecond float64) Chunking {
	share := min(1, maxChunkPixels/(perSecond*c.Length.Seconds()))
	if !(share < 1) { // also if the rate is unknown
		return c
	}
	share = max(share, minShare)
	shorter := func(d time.Duration) time.Duration { return time.Duration(share * float64(d)) }
	c.Length, c.Min, c.Whole, c.MinLast = shorter(c.Length), shorter(c.Min), shorter(c.Whole), shorter(c.MinLast)
	return c
}

// pixelRate is how many pixels a second all renditions of a plan have together.
func pixelRate(p *video.Plan) float64 {
	pixels := 0.0
	for _, r := range p.Renditions {
		if r.Making == video.Copied {
			continue
		}
		pixels += float64(r.Width) * float64(r.Height)
	}
	return pixels * min(p.Input.FrameRate, maxRate)
}

// headCut says how the first chunks are cut.
type headCut int

const (
	likeTheRest headCut = iota
	atKeyframes         // of a video that is played early: short ones
	atFrames            // and as short as Chunking.Head says, wherever the keyframes are
)

// chunks cuts a video at some of its keyframes. A video whose container does not seek
// exactly, or whose frames have no times, is one chunk.
//
// Under a frame-rate limit, a chunk begins only at a frame that is kept.
func (c Chunking) chunks(line *probe.Timeline, tb video.Ratio, keys []int64, reliable bool, head headCut, limit frameLimit) []video.Chunk {
	out := []video.Chunk{{Start: line.First, End: line.Until(), Seek: video.NoSeek}}
	ticks := func(d time.Duration) int64 { return int64(tb.Ticks(d.Seconds())) }
	end := line.Last + line.LastDuration
	if reliable {
		out[0].Seek = line.Opening(0)
	}
	if !reliable || line.Untimed || end-line.First < ticks(c.Whole) {
		return out
	}
	for {
		start := out[len(out)-1].Start
		length, frames := max(ticks(c.Min), min(ticks(c.Length), (end-start)/c.Parts)), keys
		if to, in := c.nextOfHead(tb.Seconds(start - line.First)); in && head != likeTheRest {
			length = min(ticks(to)-(start-line.First), ticks(c.Length))
			if head == atFrames {
				frames = line.Shown
			}
		}
		at, found := nextBorder(frames, start+max(length, 1), line, limit)
		if !found || end-at < ticks(c.MinLast) {
			return out
		}
		out[len(out)-1].End = at
		out = append(out, video.Chunk{Start: at, End: line.Until(), Seek: line.SeekTo(at, 0)})
	}
}

// nextOfHead returns where the short chunk should end that begins after so many
// seconds. It reports false after the last of them.
func (c Chunking) nextOfHead(seconds float64) (time.Duration, bool) {
	const rounding = 0.5 // of a chunk that begins at the first frame after its time
	for _, to := range c.Head {
		if to.Seconds() > seconds+rounding {
			return to, true
		}
	}
	return 0, false
}

// borders returns the keyframes where a chunk can begin.
func borders(line *probe.Timeline) (all []int64) {
	for _, k := range line.Keys {
		if k.Border {
			all = append(all, k.PTS)
		}
	}
	return all
}

// nextBorder returns the first of some frames at a time or later that a
// frame-rate limit keeps.
func nextBorder(frames []int64, from int64, line *probe.Timeline, limit frameLimit) (int64, bool) {
	i, _ := slices.BinarySearch(frames, from)
	for _, pts := range frames[i:] {
		if limit.keeps(pts, line) {
			return pts, true
		}
	}
	return 0, false
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
