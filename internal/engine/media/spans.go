package media

import (
	"cmp"
	"slices"

	"github.com/spool-video/spool/internal/video"
)

// reading says when it is worth to read a part of a source only.
type reading struct {
	least int64 // a file smaller than this is read whole
	gap   int64 // what is so close together is read in one go
	grain int64 // how finely it is known where packets lie, which costs memory
}

var defaultReading = reading{least: 64 << 20, gap: 1 << 20, grain: 256 << 10}

const (
	// worthwhile is the part of a file, in percent, that a task may need for
	// reading parts to be worth it.
	worthwhile = 80
	// maxSpans is how many places one task reads. A request each is what they
	// cost, and room in the plan.
	maxSpans = 1000
)

// outline is where a file keeps what is not pictures.
type outline struct {
	size      int64
	structure []video.Span // what is read to open the file, without packets
	opening   int          // how many packets of all streams are read for that

	fragmented bool // of MP4: its index is strewn over the file

	// Of Matroska only.
	matroska bool
	cues     []cue // the index of the film, in order of time
}

// note writes into a plan which bytes of the file each task needs. A plan
// without such notes has every task read the whole file.
func (r reading) note(p *video.Plan, f *findings, line *timeline) {
	o := f.outline
	if o == nil || o.size < r.least || !f.seeksReliably() || line.untimed || line.tangled || line.layout.unknown {
		return
	}
	opening, ok := f.openingSpans()
	if !ok {
		return
	}
	n := noter{reading: r, outline: o, line: line, tb: p.Input.TimeBase}
	n.head = r.join(o.size, o.structure, opening)
	if p.Input.Codec == "hevc" || o.fragmented {
		// ffmpeg goes back further where frames that lead a keyframe cannot be
		// decoded, and where it knows only one fragment's times.
		n.back = 1
	}
	gain := false
	stretch := func(c *video.Chunk) {
		c.Spans = n.spans(c.Seek, c.End)
		gain = gain || c.Spans != nil
	}
	for i := range p.Chunks {
		stretch(&p.Chunks[i])
	}
	for i := range p.Samples {
		stretch(&p.Samples[i])
	}
	for _, b := range batches(p) {
		spans := n.spans(b.seek, b.shots[len(b.shots)-1].pts+1)
		for _, s := range b.shots {
			for _, i := range s.of {
				p.Thumbnails[i].Spans = spans
			}
		}
		gain = gain || spans != nil
	}
	if gain {
		p.Head = n.head
	}
}

// noter finds the bytes of stretches of a film.
type noter struct {
	reading
	outline *outline
	line    *timeline
	tb      video.Ratio
	head    []video.Span
	back    int
}

// spans returns the bytes that it takes, beside the head, to show what is
// between two times; nil when that is nearly all of the file.
func (n *noter) spans(seek, until int64) []video.Span {
	first, end := n.line.packetsFor(seek, until, n.back)
	found := n.line.layout.spans(first, end)
	if n.outline.matroska && len(found) > 0 {
		found = n.outline.through(found, seek, n.tb)
		if end == n.line.layout.packets {
			found[0].To = n.outline.size // what belongs to the last packet may follow it
		}
	}
	found = n.join(n.outline.size, found)
	if len(found) == 0 || length(n.join(n.outline.size, n.head, found)) > n.outline.size/100*worthwhile {
		return nil
	}
	return found
}

// openingSpans returns where the packets lie that are read to open the file.
func (f *findings) openingSpans() ([]video.Span, bool) {
	n := f.outline.opening
	if n > len(f.early) || slices.ContainsFunc(f.early[:n], func(s video.Span) bool { return s.From < 0 || s.To > farAway }) {
		return nil, false
	}
	if !f.outline.matroska || n == 0 {
		return f.early[:n], true
	}
	// Matroska is read from its beginning on, whatever lies there.
	last := slices.MaxFunc(f.early[:n], func(a, b video.Span) int { return cmp.Compare(a.To, b.To) })
	return []video.Span{{From: 0, To: last.To}}, true
}

// join puts spans in order, within a file of this size, and makes one of those
// that are close together.
func (r reading) join(size int64, all ...[]video.Span) []video.Span {
	sorted := slices.Concat(all...)
	slices.SortFunc(sorted, func(a, b video.Span) int { return cmp.Compare(a.From, b.From) })
	for gap := max(r.gap, 1); ; gap *= 2 {
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

// SampleSpans returns the bytes of the source that measuring reads; nil means
// all of them.
func SampleSpans(p *video.Plan) []video.Span {
	return needed(p, p.Samples, func(c video.Chunk) []video.Span { return c.Spans })
}

// ThumbnailSpans returns the bytes of the source that making the thumbnails
// reads; nil means all of them.
func ThumbnailSpans(p *video.Plan) []video.Span {
	return needed(p, p.Thumbnails, func(t video.Thumbnail) []video.Span { return t.Spans })
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
	return reading{}.join(farAway, all...)
}
