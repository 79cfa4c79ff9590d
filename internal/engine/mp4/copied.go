package mp4

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/Eyevinn/mp4ff/avc"
	mp4ff "github.com/Eyevinn/mp4ff/mp4"
)

// ErrNotIDR means that decoding cannot begin at some keyframe without a frame before it.
var ErrNotIDR = errors.New("a keyframe is not where decoding can begin")

// Copied describes a chunk file whose pictures were not encoded by us.
type Copied struct {
	Sequence
	Frames      int
	First, Last int64 // when the first and the last frame are shown, in ticks
}

// CopyVideo writes a chunk file of H.264 that was copied from a source as what we make: a sample holds the slices of its
// picture and nothing else. Parameter sets are in the sample entry alone (avc1), and what cameras and encoders write
// between the pictures (messages with names, places, captions and settings) is left out. A file that cannot be written
// like this is an error, ErrNotIDR if that is because of a keyframe.
func CopyVideo(w io.Writer, file Input, most int64) (Copied, error) {
	t, err := readSingle(file, most)
	if err != nil {
		return Copied{}, err
	}
	entry, sets, err := plainEntry(t.entries)
	if err != nil {
		return Copied{}, err
	}
	c := Copied{Frames: len(t.sizes), First: slices.Min(t.pts), Last: slices.Max(t.pts)}
	if c.Sequence, err = readSequence(sets[0]); err != nil {
		return Copied{}, err
	}
	k := unitFilter{track: t, sets: sets}
	if err := k.readSamples(file); err != nil {
		return Copied{}, err
	}
	plain := *t
	plain.entries, plain.sizes = []mp4ff.Box{entry}, k.sizes
	plain.spans = []span{{size: total(k.sizes), samples: len(k.sizes)}}
	piece := &Piece{track: &plain, Input: Input{&keptBytes{from: file, ranges: k.kept}, plain.size()}}
	joined, err := joinVideo([]*Piece{piece}, Timing{})
	if err != nil {
		return Copied{}, err
	}
	_, err = writeFile(w, []*trackBuilder{joined}, joined.scale)
	return c, err
}

// plainEntry returns the sample entry without all that decoders do not need, and its parameter sets, of which the first
// is the only one of a sequence.
func plainEntry(entries []mp4ff.Box) (entry *mp4ff.VisualSampleEntryBox, sets [][]byte, err error) {
	e, ok := entries[0].(*mp4ff.VisualSampleEntryBox)
	if !ok || len(entries) != 1 || e.Type() != "avc1" || len(e.AvcC.SPSnalus) != 1 || len(e.AvcC.PPSnalus) == 0 {
		return nil, nil, errors.New("the file is not H.264 with one sequence parameter set")
	}
	plain := mp4ff.CreateVisualSampleEntryBox("avc1", e.Width, e.Height, e.AvcC)
	for _, b := range e.Children {
		if colour, is := b.(*mp4ff.ColrBox); is {
			plain.AddChild(colour)
		}
	}
	return plain, slices.Concat(e.AvcC.SPSnalus, e.AvcC.PPSnalus), nil
}

// unitFilter finds out what is kept of the samples of a track.
type unitFilter struct {
	*track
	sets  [][]byte // the parameter sets that samples may repeat
	sizes []uint32
	kept  []Range
	at    int64 // where the unit lies that is read next
}

// readSamples looks at each unit of each sample.
func (k *unitFilter) readSamples(file Input) error {
	next, key := 0, 0
	for _, s := range k.spans {
		k.at = s.offset
		r := bufio.NewReaderSize(io.NewSectionReader(file, s.offset, s.size), copyBuffer)
		for range s.samples {
			isKey := k.sync == nil || key < len(k.sync) && k.sync[key] == uint32(next+1)
			if isKey {
				key++
			}
			if err := k.readSample(r, int64(k.track.sizes[next]), isKey); err != nil {
				return fmt.Errorf("frame %d: %w", next+1, err)
			}
			next++
		}
	}
	return nil
}

// readSample looks at the units of one sample.
func (k *unitFilter) readSample(r *bufio.Reader, size int64, key bool) error {
	const head = 4 // bytes that say how long a unit is
	pictures, kept := 0, int64(0)
	for size > 0 {
		b, err := r.Peek(head + 1)
		if err != nil {
			return fmt.Errorf("read the head of a unit: %w", err)
		}
		length, kind := int64(binary.BigEndian.Uint32(b)), avc.GetNaluType(b[head])
		if length < 1 || head+length > size {
			return errors.New("a unit is longer than its frame")
		}
		switch kind {
		case avc.NALU_NON_IDR, avc.NALU_IDR:
			if key && kind != avc.NALU_IDR {
				return ErrNotIDR
			}
			pictures, kept = pictures+1, kept+head+length
			k.keep(Range{k.at, k.at + head + length})
			_, err = r.Discard(int(head + length))
		case avc.NALU_SPS, avc.NALU_PPS:
			err = k.checkSet(r, head, length)
		case 2, 3, 4: // slices that are divided into parts
			return errors.New("the frame is not of a profile that is copied")
		default:
			_, err = r.Discard(int(head + length))
		}
		if err != nil {
			return fmt.Errorf("read a unit: %w", err)
		}
		k.at += head + length
		size -= head + length
	}
	if pictures == 0 {
		return errors.New("the frame has no picture")
	}
	k.sizes = append(k.sizes, uint32(kept))
	return nil
}

// checkSet reads a parameter set, which must be one of the sample entry's: players that begin there know no other.
func (k *unitFilter) checkSet(r *bufio.Reader, head, length int64) error {
	const longest = 64 << 10
	if length > longest {
		return errors.New("a parameter set is too long")
	}
	unit := make([]byte, head+length)
	if _, err := io.ReadFull(r, unit); err != nil {
		return err
	}
	if !slices.ContainsFunc(k.sets, func(s []byte) bool { return bytes.Equal(s, unit[head:]) }) {
		return errors.New("the parameter sets change")
	}
	return nil
}

// keep adds the bytes of a unit.
func (k *unitFilter) keep(r Range) {
	if n := len(k.kept); n > 0 && k.kept[n-1].To == r.From {
		k.kept[n-1].To = r.To
		return
	}
	k.kept = append(k.kept, r)
}

// keptBytes is a file of some ranges of another one. It is read from its beginning to its end.
type keptBytes struct {
	from   io.ReaderAt
	ranges []Range
	done   int64 // bytes of it that were read
}

// ReadAt reads what follows the last read.
func (k *keptBytes) ReadAt(p []byte, off int64) (int, error) {
	if off != k.done {
		return 0, fmt.Errorf("read kept bytes at %d instead of %d", off, k.done)
	}
	n := 0
	for n < len(p) && len(k.ranges) > 0 {
		r := &k.ranges[0]
		part := p[n:min(len(p), n+int(min(r.To-r.From, int64(len(p)))))]
		got, err := k.from.ReadAt(part, r.From)
		n, k.done, r.From = n+got, k.done+int64(got), r.From+int64(got)
		if r.From == r.To {
			k.ranges = k.ranges[1:]
		}
		if got < len(part) && err != nil {
			return n, err
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
