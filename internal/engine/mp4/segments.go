package mp4

import (
	"errors"
	"iter"
	"math"
	"slices"
	"time"

	mp4ff "github.com/Eyevinn/mp4ff/mp4"
)

// segmentLength is how long a segment is meant to last, in seconds. Renditions
// have a keyframe about every two seconds; a shorter segment would cost more
// requests, a longer one would make players slow to start and to switch.
//
// URLs contain the numbers of segments: if files are ever cut differently, the
// URLs have to change too, or a cached playlist would refer to other media.
const segmentLength = 4

// Segments is one track of a rendition file, cut into segments that can be
// decoded alone.
type Segments struct {
	Init   []byte   // the init segment: a file without samples
	Codecs []string // in the form of RFC 6381, such as "avc1.64001f"

	Width, Height int   // of the video
	Transfer      int   // of the video, as ISO/IEC 23091-2 numbers them: 16 is PQ, 18 HLG; 0: not said
	Channels      int   // of the audio
	Timescale     int64 // ticks a second

	id      uint32 // of the track
	video   bool
	setups  [][]byte // the parameter sets of each decoder configuration; nil if there is one
	changed int      // the first sample from which on they precede the first sample of each fragment
	delay   int64    // ticks before the first sample, which no edit list has to express
	// mediaTime is when playback begins on the media's own timeline, as the edit list says.
	mediaTime int64
	samples   []sample
	sync      []uint32 // numbers, from 1, of the samples that can be decoded alone; nil means all
	spans     []span
	list      []Segment
}

// sample is what a segment says about a sample.
type sample struct {
	size     uint32
	duration uint32
	offset   int32 // from decode to presentation time
}

// Segment is a part of a track. Its times are on the timeline of the video, in
// ticks: the first begins at zero, and each where the one before ends.
type Segment struct {
	Start, End int64
	Frames     int
	Size       int64 // bytes, as it is sent
	KeySize    int64 // bytes of its first frame alone, likewise; 0 for audio

	mark // where it begins
}

// mark is a position between two samples.
type mark struct {
	sample  int   // the one that follows
	decoded int64 // its decode time, on the media's own timeline
	span    int   // the span that it is in
	skipped int   // samples of the span that come before it
	at      int64 // where it lies in the file
}

// advance moves m behind the sample that follows it.
func (s *Segments) advance(m *mark) {
	x := s.samples[m.sample]
	m.sample, m.decoded = m.sample+1, m.decoded+int64(x.duration)
	m.skipped, m.at = m.skipped+1, m.at+int64(x.size)
	if m.skipped == s.spans[m.span].samples && m.span+1 < len(s.spans) {
		m.span, m.skipped = m.span+1, 0
		m.at = s.spans[m.span].offset
	}
}

// newSegments cuts a track. Of one that is still growing, it leaves out the
// segments that may change.
func newSegments(t *track, movieScale uint32, growing bool) (*Segments, error) {
	s := &Segments{Timescale: int64(t.scale), id: 2, video: t.isVideo(), delay: t.edit.delay, mediaTime: t.edit.mediaTime, sync: t.sync, spans: t.spans}
	if s.video {
		s.id = 1
	}
	s.Width, s.Height = frameSize(t.entries[0])
	s.Transfer = transferOf(t.entries[0])
	if e, ok := t.entries[0].(*mp4ff.AudioSampleEntryBox); ok {
		s.Channels = int(e.ChannelCount)
	}
	var err error
	if s.Codecs, err = codecNames(t.entries); err != nil {
		return nil, err
	}
	if len(t.entries) > 1 {
		s.setups, s.changed = parameterSets(t.entries), firstChange(t.spans)
	}
	if s.Init, err = s.buildInit(t, movieScale); err != nil {
		return nil, err
	}
	if err := s.readSamples(t); err != nil {
		return nil, err
	}
	if err := s.cutAtKeyframes(t.pts, t.edit.delay+t.edit.length, growing); err != nil {
		return nil, err
	}
	for i := range s.list {
		for f := range s.fragments(i) {
			s.list[i].Size += s.headSize(f) + f.media
		}
		if s.video {
			f := s.keyframe(i)
			s.list[i].KeySize = s.headSize(f) + f.media
		}
	}
	return s, nil
}

// firstChange returns the first sample whose decoder configuration differs from the
// init segment's.
func firstChange(spans []span) (sample int) {
	for _, s := range spans {
		if s.entry != 0 {
			return sample
		}
		sample += s.samples
	}
	return sample
}

// readSamples keeps what the tables say about each sample. The composition
// offsets are recomputed from the presentation times.
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

// cutAtKeyframes decides where segments begin: at the first keyframe of each segmentLength
// of the timeline. All renditions of a video have these keyframes at the same
// frames, so they are cut at the same times. Encoders put a keyframe at the
// frame nearest to its time, which may be a tick too early.
func (s *Segments) cutAtKeyframes(pts []int64, end int64, growing bool) error {
	if s.sync != nil && (len(s.sync) == 0 || s.sync[0] != 1) {
		return errors.New("the track does not start with a keyframe")
	}
	length := segmentLength * s.Timescale
	m := mark{at: s.spans[0].offset}
	current := Segment{mark: m}
	keys := 0 // met so far
	for i, p := range pts {
		if s.sync == nil || keys < len(s.sync) && s.sync[keys] == uint32(i+1) {
			keys++
			begins := max(p, 0)
			if beginsSegment(begins, current.Start, s.Timescale) {
				if i == 0 {
					return errors.New("the track does not start at its beginning")
				}
				s.add(current, begins, i)
				current = Segment{Start: begins, mark: m}
			}
		}
		s.advance(&m)
	}
	if growing {
		s.withdrawLast(slices.Max(pts)-current.Start, length/4)
		return nil
	}
	if end <= current.Start {
		return errors.New("the track ends before its last segment starts")
	}
	s.add(current, end, len(pts))
	s.joinLast(length / 4)
	return nil
}

// beginsSegment reports whether a segment begins at a keyframe, if the one before begins at start.
func beginsSegment(key, start, scale int64) bool {
	length, slack := segmentLength*scale, scale/100
	return (key+slack)/length > (start+slack)/length && key-start >= length/2
}

// SegmentStarts returns when the segments of a track begin that has keyframes at these times, in ticks. The first of
// them must be 0.
func SegmentStarts(keys []int64, scale int64) []int64 {
	starts := []int64{0}
	for _, k := range keys {
		if beginsSegment(k, starts[len(starts)-1], scale) {
			starts = append(starts, k)
		}
	}
	return starts
}

// LongestSegment returns how long the longest segment of a track will be that has keyframes at these times and ends at
// end.
func LongestSegment(keys []int64, end, scale int64) (longest int64) {
	starts := SegmentStarts(keys, scale)
	if last := len(starts) - 1; last > 0 && end-starts[last] < segmentLength*scale/4 { // see joinLast
		starts = starts[:last]
	}
	for i, start := range starts {
		next := end
		if i+1 < len(starts) {
			next = starts[i+1]
		}
		longest = max(longest, next-start)
	}
	return longest
}

// add adds a segment that ends before a sample.
func (s *Segments) add(g Segment, end int64, sample int) {
	g.End, g.Frames = end, sample-g.sample
	s.list = append(s.list, g)
}

// withdrawLast removes the last segment of a growing track if only known of the
// segment after it exists: less than least, so that the two may have to be joined.
func (s *Segments) withdrawLast(known, least int64) {
	if n := len(s.list); n > 0 && known < least {
		s.list = s.list[:n-1]
	}
}

// joinLast joins a short last segment to the one before.
func (s *Segments) joinLast(least int64) {
	n := len(s.list)
	if n < 2 || s.list[n-1].End-s.list[n-1].Start >= least {
		return
	}
	last := s.list[n-1]
	s.list = s.list[:n-1]
	s.list[n-2].End, s.list[n-2].Frames = last.End, s.list[n-2].Frames+last.Frames
}

// List returns the segments in their order.
func (s *Segments) List() []Segment { return s.list }

// Length returns when the last segment ends.
func (s *Segments) Length() time.Duration {
	if len(s.list) == 0 {
		return 0
	}
	return signedTicks(s.list[len(s.list)-1].End, uint32(s.Timescale))
}

// Range is a part of a file: the bytes From up to, but not including, To.
type Range struct{ From, To int64 }

// fragment is a range of samples with one decoder configuration.
type fragment struct {
	mark    // where it begins
	samples int
	entry   int
	media   int64 // bytes of ranges
	ranges  []Range
	shown   int64 // ticks for which its only sample is shown; 0: as long as the file says
}

// fragments yields the parts of a segment. It is one, unless the decoder
// configuration changes in the middle.
func (s *Segments) fragments(n int) iter.Seq[fragment] {
	return func(yield func(fragment) bool) {
		m := s.list[n].mark
		f := fragment{mark: m, entry: s.spans[m.span].entry}
		for range s.list[n].Frames {
			if entry := s.spans[m.span].entry; entry != f.entry {
				if !yield(f) {
					return
				}
				f = fragment{mark: m, entry: entry}
			}
			f.add(Range{m.at, m.at + int64(s.samples[m.sample].size)})
			s.advance(&m)
		}
		yield(f)
	}
}

// add adds the bytes of a sample.
func (f *fragment) add(r Range) {
	f.samples, f.media = f.samples+1, f.media+r.To-r.From
	if n := len(f.ranges); n > 0 && f.ranges[n-1].To == r.From {
		f.ranges[n-1].To = r.To
		return
	}
	f.ranges = append(f.ranges, r)
}

// keyframe returns the first frame of a segment, shown until the next segment.
func (s *Segments) keyframe(n int) fragment {
	m := s.list[n].mark
	f := fragment{mark: m, entry: s.spans[m.span].entry, shown: s.list[n].End - s.list[n].Start}
	f.add(Range{m.at, m.at + int64(s.samples[m.sample].size)})
	return f
}
