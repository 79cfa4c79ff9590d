package plan

import (
	"cmp"
	"math"
	"slices"

	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

// Reading says how the parts of a sparse source are fetched.
type Reading struct {
	Gap int64 // spans that are this close together are fetched as one
}

// DefaultReading is what workers use.
var DefaultReading = Reading{Gap: 1 << 20}

const (
	// worthwhile is the part of a file, in percent, that a task may need for a
	// sparse source to be worth it.
	worthwhile = 80
	// maxSpans is how many spans one task fetches. Each costs a request, and
	// space in the plan.
	maxSpans = 1000
)

// recordSpans writes into a plan which bytes of the file each task needs. Without them,
// every task reads the whole file.
func (r Reading) recordSpans(p *video.Plan, f *probe.Result, line *probe.Timeline) {
	index := f.Index
	if index == nil || !f.SeeksExactly() || line.Untimed || line.Tangled || line.Layout.Unknown {
		return
	}
	opening, ok := f.OpeningSpans()
	if !ok {
		return
	}
	n := spanFinder{Reading: r, index: index, line: line, tb: p.Input.TimeBase}
	n.head = r.join(index.Size, index.Structure, opening)
	if p.Input.Codec == "hevc" || index.Fragmented {
		// ffmpeg goes back further where frames before a keyframe cannot be
		// decoded, and where it knows the times of one fragment only.
		n.back = 1
	}
	gain := false
	note := func(c *video.Chunk) {
		c.Spans = n.spans(c.Seek, c.End)
		gain = gain || c.Spans != nil
	}
	for i := range p.Chunks {
		note(&p.Chunks[i])
	}
	for i := range p.Samples {
		note(&p.Samples[i])
	}
	for _, b := range Batches(p) {
		spans := n.spans(b.Seek, b.Shots[len(b.Shots)-1].PTS+1)
		for _, s := range b.Shots {
			for _, i := range s.Thumbnails {
				p.Thumbnails[i].Spans = spans
			}
		}
		gain = gain || spans != nil
	}
	for i, f := range p.Poster.Frames {
		p.Poster.Frames[i].Spans = n.spans(f.Seek, f.Next+1)
		gain = gain || p.Poster.Frames[i].Spans != nil
	}
	if gain {
		p.Head = n.head
	}
}

// spanFinder finds the bytes of a part of a video.
type spanFinder struct {
	Reading
	index *probe.Index
	line  *probe.Timeline
	tb    video.Ratio
	head  []video.Span
	back  int
}

// spans returns the bytes that are needed, beside the head, to show what is
// between two times; nil when that is nearly all of the file.
func (n *spanFinder) spans(seek, until int64) []video.Span {
	first, end := n.line.PacketsFor(seek, until, n.back)
	found := n.line.Layout.Spans(first, end)
	if n.index.Matroska && len(found) > 0 {
		found = n.index.Through(found, seek, n.tb)
		if end == n.line.Layout.Packets {
			found[0].To = n.index.Size // data of the last packet may follow it
		}
	}
	found = n.join(n.index.Size, found)
	if len(found) == 0 || length(n.join(n.index.Size, n.head, found)) > n.index.Size/100*worthwhile {
		return nil
	}
	return found
}

// join sorts spans, limits them to a file of this size, and merges those that
// are close together.
func (r Reading) join(size int64, all ...[]video.Span) []video.Span {
	sorted := slices.Concat(all...)
	slices.SortFunc(sorted, func(a, b video.Span) int { return cmp.Compare(a.From, b.From) })
	for gap := max(r.Gap, 1); ; gap *= 2 {
		var out []video.Span
		for _, s := range sorted {
			s.From, s.To = max(s.From, 0), min(s.To, size)
			switch last := len(out) - 1; {
			case s.From >= s.To:
			case last >= 0 && s.From-out[last].To <= gap:
				out[last].To = max(out[last].To, s.To)
			default:
				out = append(out, s)
			}
		}
		if len(out) <= maxSpans {
			return out
		}
	}
}

// length returns how many bytes spans that do not overlap have together.
func length(spans []video.Span) (n int64) {
	for _, s := range spans {
		n += s.To - s.From
	}
	return n
}

// ChunkSpans returns the bytes of the source that encoding chunk n reads; nil
// means all of them.
func ChunkSpans(p *video.Plan, n int) []video.Span {
	return needed(p, p.Chunks[n:n+1], func(c video.Chunk) []video.Span { return c.Spans })
}

// LaterChunkSpans is ChunkSpans of a chunk whose borders were moved back by less
// than the length of the next one.
func LaterChunkSpans(p *video.Plan, n int) []video.Span {
	return needed(p, p.Chunks[n:min(n+2, len(p.Chunks))], func(c video.Chunk) []video.Span { return c.Spans })
}

// SampleSpans returns the bytes of the source that measuring quality reads; nil
// means all of them.
func SampleSpans(p *video.Plan) []video.Span {
	return needed(p, p.Samples, func(c video.Chunk) []video.Span { return c.Spans })
}

// ThumbnailSpans returns the bytes of the source that making the thumbnails
// reads; nil means all of them.
func ThumbnailSpans(p *video.Plan) []video.Span {
	return needed(p, p.Thumbnails, func(t video.Thumbnail) []video.Span { return t.Spans })
}

// PosterSpans returns the bytes of the source that choosing the poster reads;
// nil means all of them.
func PosterSpans(p *video.Plan) []video.Span {
	return needed(p, p.Poster.Frames, func(f video.PosterFrame) []video.Span { return f.Spans })
}

// needed joins the head with the spans of some parts of a plan.
func needed[T any](p *video.Plan, parts []T, spans func(T) []video.Span) []video.Span {
	if len(p.Head) == 0 {
		return nil
	}
	all := [][]video.Span{p.Head}
	for _, part := range parts {
		s := spans(part)
		if len(s) == 0 {
			return nil
		}
		all = append(all, s)
	}
	return Reading{}.join(math.MaxInt64, all...)
}
