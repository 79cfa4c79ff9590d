package mp4

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

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
	label string // names the input in errors
}

func (r *trackBuilder) isVideo() bool { return isVideoEntry(r.entries[0]) }

func (r *trackBuilder) addSources(p Input, label string, spans []span) {
	for _, s := range spans {
		r.sources = append(r.sources, source{span: s, input: p, label: label})
	}
}

// newAudioTrack makes the track of the audio, whose times stay as they are.
func newAudioTrack(p Input) (*trackBuilder, error) {
	t, err := readSingle(p, maxMoov)
	if err != nil {
		return nil, err
	}
	if t.isVideo() {
		return nil, errors.New("the track is not audio")
	}
	r := &trackBuilder{scale: t.scale, entries: t.entries, edit: t.edit, sizes: t.sizes, times: t.pts, stts: t.stts, sync: t.sync}
	r.addSources(p, "audio", t.spans)
	return r, nil
}

// newVideoTrack joins the frames of all chunk files, in order.
func newVideoTrack(chunks []Input, length time.Duration) (*trackBuilder, error) {
	j := &joiner{trackBuilder: &trackBuilder{sync: []uint32{}}, known: map[string]int{}, length: length}
	for i, p := range chunks {
		t, err := readSingle(p, maxMoov)
		if errors.Is(err, ErrNoFrames) {
			continue // a chunk of a damaged source from which nothing could be decoded
		}
		if err == nil {
			err = j.add(p, t, fmt.Sprintf("chunk %d", i+1))
		}
		if err != nil {
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
	length time.Duration  // of the video; 0 if unknown
}

func (j *joiner) add(p Input, t *track, label string) error {
	if !t.isVideo() {
		return errors.New("the track is not video")
	}
	if len(j.pts) == 0 {
		j.scale, j.width, j.height = t.scale, t.width, t.height
	}
	if t.scale != j.scale {
		return fmt.Errorf("its time scale is %d, that of the chunks before is %d", t.scale, j.scale)
	}
	if t.sync != nil && (len(t.sync) == 0 || t.sync[0] != 1) {
		return errors.New("it does not start with a keyframe")
	}
	if len(j.entries) > 0 && t.entries[0].Type() != j.entries[0].Type() {
		return fmt.Errorf("its codec is %q, that of the chunks before is %q", t.entries[0].Type(), j.entries[0].Type())
	}
	if err := j.addEntries(t); err != nil {
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
	j.addSources(p, label, t.spans)
	return nil
}

// addEntries adds the sample entries of a chunk file that are new, and makes its
// spans point to those of the output. Chunks encoded alike share one.
func (j *joiner) addEntries(t *track) error {
	at := make([]int, len(t.entries))
	for i, e := range t.entries {
		if v, ok := e.(*mp4ff.VisualSampleEntryBox); ok {
			v.CompressorName = "" // a different encoder version does not need a new decoder configuration
		}
		key, err := encoded(e)
		if err != nil {
			return err
		}
		n, ok := j.known[string(key)]
		if !ok {
			n = len(j.entries)
			j.entries = append(j.entries, e)
			j.known[string(key)] = n
		}
		at[i] = n
	}
	for i := range t.spans {
		t.spans[i].entry = at[t.spans[i].entry]
	}
	return nil
}

// addTimes appends the times of a chunk file, all of which must come after those
// of the chunks before: times that overlap cannot be decoded in this order.
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
// which no frame is shown before it is decoded. So they increase strictly across
// the joins, whatever reordering each chunk was encoded with.
func (j *joiner) schedule() error {
	var shift int64
	for i, s := range j.sorted {
		shift = max(shift, s-j.pts[i])
	}
	first, n := j.sorted[0], len(j.sorted)
	if j.length > 0 {
		left := int64(j.length.Seconds()*float64(j.scale)) - j.sorted[n-1]
		j.last = min(j.last, max(left, int64(j.scale)/10)) // a tenth of a second in any case
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
		if delta > math.MaxUint32 || offset > math.MaxInt32 {
			return fmt.Errorf("the frame at %d/%d s lies too far from its neighbours", s, j.scale)
		}
		addDelta(j.stts, uint32(delta))
		addOffset(j.ctts, uint32(i+1), int32(offset))
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
