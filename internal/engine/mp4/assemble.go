package mp4

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	mp4ff "github.com/Eyevinn/mp4ff/mp4"
)

// Summary describes an assembled film.
type Summary struct {
	Frames        int           // pictures
	Duration      time.Duration // until both pictures and sound have ended
	Size          int64
	Width, Height int
}

// copyBuffer is how much of each track is read at once.
const copyBuffer = 256 << 10

// Assemble writes one film to w: the pictures of all pieces in order and, when
// audio is not nil, the sound. The same pieces always give the same bytes.
//
// The pieces must share a time scale and follow each other in time, and no two
// frames may be shown at the same moment. A piece without frames adds nothing. The
// times of the frames stay exactly what the pieces' edit lists make them, with
// the film's zero at zero.
//
// How long the last frame is shown no piece can tell; it is taken to be as long
// as the one before. Where that would be beyond length, which may be 0 for a film
// whose length is not known, it ends there.
func Assemble(w io.Writer, pieces []Input, audio *Input, length time.Duration) (Summary, error) {
	pictures, err := newVideoTrack(pieces, length)
	if err != nil {
		return Summary{}, fmt.Errorf("join the pictures: %w", err)
	}
	reels := []*trackBuilder{pictures}
	if audio != nil {
		sound, err := newAudioTrack(*audio)
		if err != nil {
			return Summary{}, fmt.Errorf("read the sound: %w", err)
		}
		reels = append(reels, sound)
	}
	f, err := newLayout(reels)
	if err != nil {
		return Summary{}, err
	}
	if err := f.writeHead(w); err != nil {
		return Summary{}, fmt.Errorf("write the head of the film: %w", err)
	}
	if err := f.writeMedia(w); err != nil {
		return Summary{}, err
	}
	return f.summary(), nil
}

// film is a file whose every byte is decided.
type layout struct {
	reels []*trackBuilder
	runs  [][]run // of each reel
	order []int   // of the runs in the file, as indexes of reels
	ftyp  *mp4ff.FtypBox
	moov  *mp4ff.MoovBox

	mdat      int64 // size, header included
	largeMdat bool  // its size takes 64 bits
}

// plan lays the reels out. Where the media start depends on the size of the movie
// box, and that on whether offsets take 32 or 64 bits; narrow ones are tried
// first, and both kinds have a size that does not depend on their values.
func newLayout(reels []*trackBuilder) (*layout, error) {
	f := &layout{reels: reels, ftyp: fileType(reels[0].entries[0].Type())}
	for _, r := range reels {
		f.runs = append(f.runs, r.runs())
	}
	var media int64
	f.order, media = interleave(f.runs)
	f.mdat = boxHeader + media
	if f.mdat > math.MaxUint32 {
		f.largeMdat, f.mdat = true, largeBoxHeader+media
	}
	for _, wide := range []bool{false, true} {
		var err error
		if f.moov, err = buildMoov(reels, f.runs, wide); err != nil {
			return nil, err
		}
		if f.size() <= math.MaxUint32 {
			break
		}
	}
	if f.moov.Size() > math.MaxUint32 {
		return nil, errors.New("the film has too many samples for one movie box")
	}
	for i, t := range f.moov.Traks {
		setOffsets(t.Mdia.Minf.Stbl, f.runs[i], f.size()-media)
	}
	return f, nil
}

// fileType says which readers can read the file. There is no brand for HEVC.
func fileType(codec string) *mp4ff.FtypBox {
	brands := []string{"isom", "iso2", "mp41"}
	if codec == "avc1" || codec == "av01" {
		brands = []string{"isom", "iso2", codec, "mp41"}
	}
	return mp4ff.NewFtyp("isom", 0x200, brands)
}

func (f *layout) size() int64 {
	return int64(f.ftyp.Size()+f.moov.Size()) + f.mdat
}

func (f *layout) summary() Summary {
	s := Summary{
		Frames:   len(f.reels[0].sizes),
		Duration: ticks(int64(f.moov.Mvhd.Duration), f.moov.Mvhd.Timescale),
		Size:     f.size(),
	}
	s.Width, s.Height = frameSize(f.reels[0].entries[0])
	return s
}

func (f *layout) writeHead(w io.Writer) error {
	b := bufio.NewWriterSize(w, copyBuffer)
	if err := f.ftyp.Encode(b); err != nil {
		return err
	}
	if err := f.moov.Encode(b); err != nil {
		return err
	}
	if err := mp4ff.EncodeHeaderWithSize("mdat", uint64(f.mdat), f.largeMdat, b); err != nil {
		return err
	}
	return b.Flush()
}

// writeMedia copies the runs. Each track is read from its start to its end, so
// the pieces are read in large steps whatever the length of a run.
func (f *layout) writeMedia(w io.Writer) error {
	streams := make([]*bufio.Reader, len(f.reels))
	for i, r := range f.reels {
		streams[i] = bufio.NewReaderSize(&sourceReader{sources: r.sources}, copyBuffer)
	}
	next := make([]int, len(f.reels))
	for _, t := range f.order {
		if err := copyRun(w, streams[t], f.runs[t][next[t]].size); err != nil {
			return err
		}
		next[t]++
	}
	return nil
}

// copyRun copies size bytes straight out of r's buffer.
func copyRun(w io.Writer, r *bufio.Reader, size int64) error {
	for size > 0 {
		if _, err := r.Peek(1); err != nil {
			return fmt.Errorf("read the media: %w", err)
		}
		part, err := r.Peek(int(min(size, int64(r.Buffered()))))
		if err != nil {
			return fmt.Errorf("read the media: %w", err)
		}
		if _, err := w.Write(part); err != nil {
			return fmt.Errorf("write the media: %w", err)
		}
		if _, err := r.Discard(len(part)); err != nil {
			return fmt.Errorf("read the media: %w", err)
		}
		size -= int64(len(part))
	}
	return nil
}

// stream reads the bytes of sources one after the other.
type sourceReader struct {
	sources []source
	done    int64 // bytes read of the first of sources
}

func (s *sourceReader) Read(buf []byte) (int, error) {
	for len(s.sources) > 0 && s.done == s.sources[0].size {
		s.sources, s.done = s.sources[1:], 0
	}
	if len(s.sources) == 0 {
		return 0, io.EOF
	}
	from := s.sources[0]
	buf = buf[:min(int64(len(buf)), from.size-s.done)]
	if err := from.input.readFull(buf, from.offset+s.done); err != nil {
		return 0, fmt.Errorf("%s: %w", from.label, err)
	}
	s.done += int64(len(buf))
	return len(buf), nil
}
