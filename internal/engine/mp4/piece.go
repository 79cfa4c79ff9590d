package mp4

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	mp4ff "github.com/Eyevinn/mp4ff/mp4"
)

// PacketSamples is how many samples a packet of AAC has.
const PacketSamples = 1024

// Piece is a chunk file, or a piece of the audio, whose tables were read. It is
// immutable, so it may be used from many goroutines at once.
type Piece struct {
	*track
	Input
}

// ReadPiece reads the tables of a chunk file or of a piece of the audio. One
// without frames is ErrNoFrames.
func ReadPiece(p Input) (*Piece, error) {
	t, err := readSingle(p, maxMoov)
	if err != nil {
		return nil, err
	}
	for _, e := range t.entries {
		if v, ok := e.(*mp4ff.VisualSampleEntryBox); ok {
			v.CompressorName = "" // a different encoder version does not need a new decoder configuration
		}
	}
	return &Piece{track: t, Input: p}, nil
}

// Footprint returns about how many bytes of memory the piece takes.
func (p *Piece) Footprint() int64 { return 1<<10 + int64(len(p.sizes))*12 + int64(len(p.sync))*4 }

// CutAudio writes some packets of an audio file to a file of their own.
func CutAudio(w io.Writer, file Input, from, packets int) error {
	p, err := ReadPiece(file)
	if err != nil {
		return err
	}
	if p.isVideo() || from < 0 || packets < 1 || from+packets > len(p.sizes) || len(p.spans) != 1 {
		return fmt.Errorf("the file has no %d packets of audio from %d on", packets, from)
	}
	r := &trackBuilder{scale: p.scale, entries: p.entries, sizes: p.sizes[from : from+packets], stts: &mp4ff.SttsBox{}}
	if from == 0 {
		r.edit = p.edit
	}
	durations := make([]uint32, 0, len(p.sizes))
	for i, count := range p.stts.SampleCount {
		for range count {
			durations = append(durations, p.stts.SampleTimeDelta[i])
		}
	}
	var length int64
	for _, d := range durations[from : from+packets] {
		addDelta(r.stts, d)
		r.times = append(r.times, length)
		length += int64(d)
	}
	if r.edit.length = length - r.edit.mediaTime; r.edit.length <= 0 {
		return errors.New("the piece is shorter than the delay of the encoder")
	}
	r.addSources(file, 0, "audio", []span{{offset: p.spans[0].offset + total(p.sizes[:from]), size: total(r.sizes), samples: packets}})
	_, err = writeFile(w, []*trackBuilder{r}, r.scale)
	return err
}

// WriteSound writes a sound track to a file of its own: an encoded track, or the one in a rendition file. Its segments
// are those that it has in the rendition file of a video with this time scale. joined says that the track is also made in
// pieces, whose length is counted in packets.
func WriteSound(w io.Writer, track Input, videoScale int, joined bool) error {
	r, err := newAudioTrack([]Input{track})
	if err != nil {
		return err
	}
	if joined {
		r.edit.length = r.length() - r.edit.mediaTime
	}
	_, err = writeFile(w, []*trackBuilder{r}, uint32(videoScale))
	return err
}

// length returns how many ticks all samples play, edits aside.
func (r *trackBuilder) length() (ticks int64) {
	for i, count := range r.stts.SampleCount {
		ticks += int64(count) * int64(r.stts.SampleTimeDelta[i])
	}
	return ticks
}

// pieceStride is how far apart the pieces of a growing track lie in the file that
// its segments refer to. No file is as large, and no reader reads across the gaps.
const pieceStride = 1 << 44

// PieceAt returns which piece of a growing track an offset lies in, and where.
func PieceAt(offset int64) (piece int, at int64) {
	return int(offset / pieceStride), offset % pieceStride
}

// GrowingVideo returns the segments of a rendition that is still being made. pieces
// are the first pieces that have frames; all says that no more will follow. The
// finished file will have exactly the same segments. A segment that may still
// change with the next piece is left out, so the result may be empty. timing must
// be the timing of the whole video, with a delay.
func GrowingVideo(pieces []*Piece, all bool, timing Timing) (*Segments, error) {
	r, err := joinVideo(pieces, timing)
	if err != nil {
		return nil, err
	}
	return r.segments(movieScale(r.scale), all)
}

// GrowingAudio does the same for the audio of a video with this time scale.
func GrowingAudio(pieces []*Piece, all bool, videoScale int) (*Segments, error) {
	if len(pieces) == 0 {
		return nil, ErrNoFrames
	}
	r, err := joinAudio(pieces)
	if err != nil {
		return nil, err
	}
	return r.segments(movieScale(uint32(videoScale)), all)
}

// Fetchable returns how much of a growing track players can get when so much of it
// is encoded: the segments whose end is known.
func Fetchable(encoded time.Duration) time.Duration {
	const segment = segmentLength * time.Second
	return max(encoded-segment/4, 0).Truncate(segment)
}

// FetchableOf is Fetchable of a track that has keyframes at these times.
func FetchableOf(keys []time.Duration) func(encoded time.Duration) time.Duration {
	times := make([]int64, len(keys))
	for i, k := range keys {
		times[i] = int64(k)
	}
	starts := SegmentStarts(times, int64(time.Second))
	return func(encoded time.Duration) time.Duration {
		known := int64(encoded - segmentLength*time.Second/4) // a later one may be joined to the one before
		i, found := slices.BinarySearch(starts, known)
		if !found {
			i--
		}
		return time.Duration(starts[max(i, 0)])
	}
}

// segments cuts a track as if it had been written to a file and read back.
func (r *trackBuilder) segments(movieScale uint32, all bool) (*Segments, error) {
	t := &track{scale: r.scale, width: r.width, height: r.height, entries: r.entries, sizes: r.sizes, stts: r.stts, sync: r.sync}
	for _, s := range r.sources {
		s.offset += int64(s.piece) * pieceStride
		t.spans = append(t.spans, s.span)
	}
	if err := t.readTimes(r.ctts); err != nil {
		return nil, err
	}
	elst, _, err := r.edit.build(r.scale, movieScale)
	if err != nil {
		return nil, err
	}
	if err := t.readEdit(&mp4ff.EdtsBox{Elst: []*mp4ff.ElstBox{elst}}, movieScale); err != nil {
		return nil, err
	}
	return newSegments(t, movieScale, !all)
}
