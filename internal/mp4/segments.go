package mp4

import (
	"errors"
	"iter"
	"math"

	mp4ff "github.com/Eyevinn/mp4ff/mp4"
)

// segmentLength is how long a segment is meant to last, in seconds. Films have a
// keyframe about every two seconds; a shorter segment would cost more requests,
// a longer one would make players slow to start and to switch.
//
// Numbers in addresses count segments: whoever changes how films are cut has to
// change the addresses too, or a playlist kept by a cache would mean other media.
const segmentLength = 4

// Segments is one track of a film, cut into parts that can be decoded alone.
type Segments struct {
	Init   []byte   // what a decoder is set up with: a file without samples
	Codecs []string // as RFC 6381 writes them, such as "avc1.64001f"

	Width, Height int   // of a picture
	Channels      int   // of sound
	Timescale     int64 // ticks a second

	id      uint32 // of the track
	picture bool
	delay   int64 // ticks before the first sample, which no edit list has to tell
	samples []sample
	sync    []uint32 // numbers, from 1, of the samples that can be decoded alone; nil means all
	spans   []span
	list    []Segment
}

// sample is what a segment says about one.
type sample struct {
	size     uint32
	duration uint32
	offset   int32 // from decoding to showing
}

// Segment is a stretch of a track. Its times are on the film's time line, in
// ticks: the first begins at zero, and each where the one before ends.
type Segment struct {
	Start, End int64
	Frames     int
	Size       int64 // bytes, as it is sent

	first   int   // sample
	decoded int64 // when the first sample is decoded, on the media's own time line
	span    int   // in which the first sample lies
	skipped int   // samples of that span that come before
	at      int64 // where the first sample lies
}

func newSegments(t *track, movieScale uint32) (*Segments, error) {
	s := &Segments{Timescale: int64(t.scale), id: 2, picture: t.isVideo(), delay: t.edit.delay, sync: t.sync, spans: t.spans}
	if s.picture {
		s.id = 1
	}
	s.Width, s.Height = pictureSize(t.entries[0])
	if e, ok := t.entries[0].(*mp4ff.AudioSampleEntryBox); ok {
		s.Channels = int(e.ChannelCount)
	}
	var err error
	if s.Codecs, err = codecNames(t.entries); err != nil {
		return nil, err
	}
	if s.Init, err = s.buildInit(t, movieScale); err != nil {
		return nil, err
	}
	if err := s.readSamples(t); err != nil {
		return nil, err
	}
	if err := s.cut(t.pts, t.edit.delay+t.edit.length); err != nil {
		return nil, err
	}
	for i := range s.list {
		for f := range s.fragments(i) {
			s.list[i].Size += s.headSize(f) + f.media
		}
	}
	return s, nil
}

// readSamples keeps what the tables say about each sample. Of composition offsets
// there is no table any more, but when each sample is shown.
func (s *Segments) readSamples(t *track) error {
	s.samples = make([]sample, 0, len(t.sizes))
	var decoded int64
	for i, count := range t.stts.SampleCount {
		for range count {
			n := len(s.samples)
			offset := t.pts[n] - t.edit.delay + t.edit.mediaTime - decoded
			if offset < math.MinInt32 || offset > math.MaxInt32 {
				return errors.New("a sample is shown too long after it is decoded")
			}
			s.samples = append(s.samples, sample{t.sizes[n], t.stts.SampleTimeDelta[i], int32(offset)})
			decoded += int64(t.stts.SampleTimeDelta[i])
		}
	}
	if decoded > maxTicks {
		return errors.New("the track is too long")
	}
	return nil
}

// cut decides where segments begin: at the first keyframe of each stretch of
// segmentLength on the film's time line. The keyframes that all renditions of a
// film share decide, so they are cut at the same moments. Encoders put a keyframe
// at the frame nearest to its time, which may be a tick too early.
func (s *Segments) cut(pts []int64, end int64) error {
	length, slack := segmentLength*s.Timescale, s.Timescale/100
	current := Segment{}
	var decoded int64
	next := s.syncNumbers()
	key, more := next()
	place := s.walkSpans()
	for i, p := range pts {
		span, skipped, at := place(i)
		if more && key == i {
			begins := max(p, 0)
			if i == 0 {
				current = Segment{span: span, skipped: skipped, at: at}
			} else if (begins+slack)/length > (current.Start+slack)/length && begins-current.Start >= length/2 {
				s.close(&current, begins, i)
				current = Segment{Start: begins, first: i, decoded: decoded, span: span, skipped: skipped, at: at}
			}
			key, more = next()
		} else if i == 0 {
			return errors.New("the track does not start with a keyframe")
		}
		decoded += int64(s.samples[i].duration)
	}
	if end <= current.Start {
		return errors.New("the track ends before its last segment starts")
	}
	s.close(&current, end, len(pts))
	s.joinLast(length / 4)
	return nil
}

func (s *Segments) close(c *Segment, end int64, samples int) {
	c.End, c.Frames = end, samples-c.first
	s.list = append(s.list, *c)
}

// joinLast makes a short rest part of the segment before it.
func (s *Segments) joinLast(least int64) {
	n := len(s.list)
	if n < 2 || s.list[n-1].End-s.list[n-1].Start >= least {
		return
	}
	last := s.list[n-1]
	s.list = s.list[:n-1]
	s.list[n-2].End, s.list[n-2].Frames = last.End, s.list[n-2].Frames+last.Frames
}

// syncNumbers returns a function that returns the index of one sample after the
// other that can be decoded alone.
func (s *Segments) syncNumbers() func() (int, bool) {
	n := -1
	return func() (int, bool) {
		n++
		if s.sync == nil {
			return n, n < len(s.samples)
		}
		if n >= len(s.sync) {
			return 0, false
		}
		return int(s.sync[n]) - 1, true
	}
}

// walkSpans returns a function that, asked for one sample after the other, says
// where it lies.
func (s *Segments) walkSpans() func(i int) (span, skipped int, at int64) {
	span, skipped, at := 0, 0, int64(0)
	if len(s.spans) > 0 {
		at = s.spans[0].offset
	}
	return func(i int) (int, int, int64) {
		if i > 0 {
			skipped++
			at += int64(s.samples[i-1].size)
			if skipped == s.spans[span].samples {
				span, skipped = span+1, 0
				at = s.spans[span].offset
			}
		}
		return span, skipped, at
	}
}

// List returns the segments in their order.
func (s *Segments) List() []Segment { return s.list }

// Range is a part of a film's file: the bytes From up to, but not with, To.
type Range struct{ From, To int64 }

// fragment is a run of samples with one decoder set-up.
type fragment struct {
	first, samples int
	entry          int
	decoded        int64
	media          int64 // bytes
	ranges         []Range
}

// fragments yields the parts of a segment. It is one, unless the set-up of the
// decoder changes in the middle.
func (s *Segments) fragments(n int) iter.Seq[fragment] {
	return func(yield func(fragment) bool) {
		g := s.list[n]
		next, left, at, skipped, decoded := g.first, g.Frames, g.at, g.skipped, g.decoded
		f := fragment{first: next, entry: s.spans[g.span].entry, decoded: decoded}
		for i := g.span; left > 0; i++ {
			here := s.spans[i]
			if i > g.span {
				at, skipped = here.offset, 0
			}
			if here.entry != f.entry {
				if !yield(f) {
					return
				}
				f = fragment{first: next, entry: here.entry, decoded: decoded}
			}
			count := min(left, here.samples-skipped)
			from := at
			for _, x := range s.samples[next : next+count] {
				at += int64(x.size)
				decoded += int64(x.duration)
			}
			f.samples, f.media, f.ranges = f.samples+count, f.media+at-from, append(f.ranges, Range{from, at})
			next, left = next+count, left-count
		}
		yield(f)
	}
}
