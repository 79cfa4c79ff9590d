package mp4

import (
	"errors"
	"fmt"
	"math"
	"slices"

	mp4ff "github.com/Eyevinn/mp4ff/mp4"
)

// trackBuilder builds one track of the output: the samples of its inputs in the
// order in which they are written.
type trackBuilder struct {
	scale         uint32
	width, height mp4ff.Fixed32 // zero for audio
	entries       []mp4ff.Box
	edit          edit

	// One value for each sample, in decode order.
	sizes []uint32
	times []int64 // when it is decoded, on the timeline of the video

	stts *mp4ff.SttsBox
	ctts *mp4ff.CttsBox // nil if every sample is shown when it is decoded
	sync []uint32       // numbers from 1; nil means all

	sources []source
}

// source is a span of an input.
type source struct {
	span
	input Input
	piece int    // the number of the input
	label string // names the input in errors
}

func (r *trackBuilder) isVideo() bool { return isVideoEntry(r.entries[0]) }

// addSources adds the spans of input number n.
func (r *trackBuilder) addSources(p Input, n int, kind string, spans []span) {
	for _, s := range spans {
		r.sources = append(r.sources, source{span: s, input: p, piece: n, label: fmt.Sprintf("%s %d", kind, n+1)})
	}
}

// newAudioTrack joins the pieces of the audio. There must be at least one.
func newAudioTrack(pieces []Input) (*trackBuilder, error) {
	read := make([]*Piece, len(pieces))
	for i, p := range pieces {
		var err error
		if read[i], err = readAudio(p); err != nil {
			return nil, err
		}
	}
	return joinAudio(read)
}

// dropRates removes measured bitrates from the description of audio. They differ between a piece and the whole track, and a
// player that began with the one goes on with the other.
func dropRates(entries []mp4ff.Box) {
	for _, e := range entries {
		a, ok := e.(*mp4ff.AudioSampleEntryBox)
		if !ok {
			continue
		}
		a.Children = slices.DeleteFunc(slices.Clone(a.Children), func(b mp4ff.Box) bool { return b.Type() == "btrt" })
		a.Btrt = nil
		if a.Esds != nil && a.Esds.DecConfigDescriptor != nil {
			a.Esds.DecConfigDescriptor.MaxBitrate, a.Esds.DecConfigDescriptor.AvgBitrate = 0, 0
		}
	}
}

// joinAudio joins pieces of the audio. The first one says when the audio begins
// and how it is decoded; the packets of the others follow it.
func joinAudio(pieces []*Piece) (*trackBuilder, error) {
	first := pieces[0].track
	dropRates(first.entries)
	r := &trackBuilder{scale: first.scale, entries: first.entries, edit: first.edit, sizes: first.sizes, times: first.pts, stts: first.stts, sync: first.sync}
	codec, err := codecName(first.entries[0])
	if err != nil {
		return nil, err
	}
	if len(pieces) > 1 {
		r.stts, r.sizes, r.times = &mp4ff.SttsBox{}, nil, nil
	}
	decoded := first.edit.delay - first.edit.mediaTime
	for i, p := range pieces {
		other, err := codecName(p.entries[0])
		if err != nil || p.isVideo() || other != codec || p.scale != r.scale {
			return nil, fmt.Errorf("piece %d of the track is not such audio", i+1)
		}
		r.addSources(p.Input, i, "piece", p.spans)
		if len(pieces) == 1 {
			return r, nil
		}
		r.sizes = append(r.sizes, p.sizes...)
		for k, count := range p.stts.SampleCount {
			for range count {
				r.times = append(r.times, decoded)
				decoded += int64(p.stts.SampleTimeDelta[k])
				addDelta(r.stts, p.stts.SampleTimeDelta[k])
			}
		}
	}
	r.edit.length = decoded - first.edit.delay
	return r, nil
}

// newVideoTrack joins the frames of all chunk files, in order.
func newVideoTrack(chunks []Input, timing Timing) (*trackBuilder, error) {
	var pieces []*Piece
	for i, p := range chunks {
		piece, err := ReadPiece(p)
		if errors.Is(err, ErrNoFrames) {
			continue // a chunk of a damaged source from which nothing could be decoded
		}
		if err != nil {
			return nil, fmt.Errorf("chunk %d: %w", i+1, err)
		}
		pieces = append(pieces, piece)
	}
	return joinVideo(pieces, timing)
}

// joinVideo joins the frames of chunk files that have any.
func joinVideo(pieces []*Piece, timing Timing) (*trackBuilder, error) {
	j := &joiner{trackBuilder: &trackBuilder{sync: []uint32{}}, known: map[string]int{}, timing: timing}
	for i, p := range pieces {
		if err := j.add(p, i); err != nil {
			return nil, fmt.Errorf("chunk %d: %w", i+1, err)
		}
	}
	if len(j.pts) == 0 {
		return nil, ErrNoFrames
	}
	return j.trackBuilder, j.schedule()
}

// joiner appends chunk file after chunk file to a video track.
type joiner struct {
	*trackBuilder
	known  map[string]int // index in entries, by the entry's bytes
	pts    []int64        // when each sample is shown, in decode order
	sorted []int64        // the same in presentation order
	last   int64          // duration of the last sample
	timing Timing
}

func (j *joiner) add(p *Piece, n int) error {
	t := p.track
	if !t.isVideo() {
		return errors.New("the track is not video")
	}
	if len(j.pts) == 0 {
		j.scale, j.width, j.height = t.scale, t.width, t.height
	}
	if t.scale != j.scale {
		return fmt.Errorf("its time scale is %d, but %d in the chunks before", t.scale, j.scale)
	}
	if t.sync != nil && (len(t.sync) == 0 || t.sync[0] != 1) {
		return errors.New("it does not start with a keyframe")
	}
	if len(j.entries) > 0 && t.entries[0].Type() != j.entries[0].Type() {
		return fmt.Errorf("its codec is %q, but %q in the chunks before", t.entries[0].Type(), j.entries[0].Type())
	}
	spans, err := j.addEntries(t)
	if err != nil {
		return err
	}
	if err := j.addTimes(t); err != nil {
		return err
	}
	before := len(j.sizes)
	j.sizes = append(j.sizes, t.sizes...)
	if t.sync == nil {
		for i := range t.sizes {
			j.sync = append(j.sync, uint32(before+i+1))
		}
	}
	for _, n := range t.sync {
		j.sync = append(j.sync, uint32(before)+n)
	}
	j.addSources(p.Input, n, "chunk", spans)
	return nil
}

// addEntries adds the sample entries of a chunk file that are new, and returns
// its spans with the numbers that the entries have in the output. Chunks encoded
// alike share one entry.
func (j *joiner) addEntries(t *track) ([]span, error) {
	at := make([]int, len(t.entries))
	for i, e := range t.entries {
		key, err := encoded(e)
		if err != nil {
			return nil, err
		}
		n, ok := j.known[string(key)]
		if !ok {
			n = len(j.entries)
			j.entries = append(j.entries, e)
			j.known[string(key)] = n
		}
		at[i] = n
	}
	spans := slices.Clone(t.spans)
	for i := range spans {
		spans[i].entry = at[spans[i].entry]
	}
	return spans, nil
}

// addTimes appends the times of a chunk file. All of them must be later than the
// times of the chunks before: times that overlap cannot be decoded in this order.
func (j *joiner) addTimes(t *track) error {
	if len(j.pts)+len(t.pts) > maxSamples {
		return fmt.Errorf("the video has more than %d frames", maxSamples)
	}
	before := len(j.sorted)
	j.pts = append(j.pts, t.pts...)
	j.sorted = append(j.sorted, t.pts...)
	own := j.sorted[before:]
	slices.Sort(own)
	for i := range own[1:] {
		if own[i] == own[i+1] {
			return fmt.Errorf("%w: two frames are shown at %d/%d s", ErrTimes, own[i], j.scale)
		}
	}
	if before > 0 && own[0] <= j.sorted[before-1] {
		return fmt.Errorf("it starts at %d/%d s, but the chunks before last until %d/%d s", own[0], j.scale, j.sorted[before-1], j.scale)
	}
	j.last = t.lastDuration()
	return nil
}

// schedule decides when each sample is decoded. Decode times are the
// presentation times in sorted order, moved ahead by the smallest shift with
// which no frame is shown before it is decoded, or by the one that was decided
// before. So they increase strictly across the joins, whatever reordering each
// chunk was encoded with.
func (j *joiner) schedule() error {
	shift := j.timing.Delay
	if shift <= 0 {
		for i, s := range j.sorted {
			shift = max(shift, s-j.pts[i])
		}
	}
	first, n := j.sorted[0], len(j.sorted)
	if j.timing.Length > 0 {
		left := int64(j.timing.Length.Seconds()*float64(j.scale)) - j.sorted[n-1]
		j.last = min(j.last, max(left, int64(j.scale)/10)) // a tenth of a second in any case
		j.last = max(j.last, min(left, int64(j.timing.Last.Seconds()*float64(j.scale))))
	}
	end := j.sorted[n-1] + j.last
	if end <= 0 {
		return errors.New("the video ends before time zero")
	}
	if j.sorted[n-1]-first > maxTicks || shift > math.MaxInt32/2 {
		return errors.New("the times of the frames lie too far apart")
	}
	j.edit = edit{delay: max(first, 0), mediaTime: shift + max(-first, 0), length: end - max(first, 0)}
	if err := j.tabulate(shift); err != nil {
		return err
	}
	for i := range j.sorted {
		j.sorted[i] -= shift
	}
	j.times = j.sorted
	return nil
}

// tabulate fills the tables of decode times and composition offsets.
func (j *joiner) tabulate(shift int64) error {
	j.stts, j.ctts = &mp4ff.SttsBox{}, &mp4ff.CttsBox{EndSampleNr: []uint32{0}}
	for i, s := range j.sorted {
		delta := j.last
		if i+1 < len(j.sorted) {
			delta = j.sorted[i+1] - s
		}
		offset := j.pts[i] - s + shift
		if delta > math.MaxUint32 || offset > math.MaxInt32 || offset < math.MinInt32 {
			return fmt.Errorf("the frame at %d/%d s lies too far from its neighbours", s, j.scale)
		}
		addDelta(j.stts, uint32(delta))
		addOffset(j.ctts, uint32(i+1), int32(offset))
		if offset < 0 {
			j.ctts.Version = 1
		}
	}
	if len(j.ctts.SampleOffset) == 1 && j.ctts.SampleOffset[0] == 0 {
		j.ctts = nil
	}
	return nil
}

func addDelta(stts *mp4ff.SttsBox, delta uint32) {
	if n := len(stts.SampleTimeDelta); n > 0 && stts.SampleTimeDelta[n-1] == delta {
		stts.SampleCount[n-1]++
		return
	}
	stts.SampleCount = append(stts.SampleCount, 1)
	stts.SampleTimeDelta = append(stts.SampleTimeDelta, delta)
}

func addOffset(ctts *mp4ff.CttsBox, number uint32, offset int32) {
	if n := len(ctts.SampleOffset); n > 0 && ctts.SampleOffset[n-1] == offset {
		ctts.EndSampleNr[n] = number
		return
	}
	ctts.SampleOffset = append(ctts.SampleOffset, offset)
	ctts.EndSampleNr = append(ctts.EndSampleNr, number)
}
