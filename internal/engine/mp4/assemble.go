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

// Summary describes an assembled rendition file.
type Summary struct {
	Frames        int           // of the video
	Duration      time.Duration // until both video and audio have ended
	Size          int64
	Width, Height int
}

// copyBuffer is how much of each track is read at once.
const copyBuffer = 256 << 10

// Timing is what is known of a video before all of its chunks are there.
type Timing struct {
	// Length is when the last frame ends at the latest; 0 means unknown. No chunk file
	// says how long its last frame is shown; it is taken to be as long as the one before.
	Length time.Duration
	// Last is how long the last frame is shown at least, as far as Length allows: in a rendition of a lower frame rate it
	// stands for the frames after it, too.
	Last time.Duration
	// Delay is how many ticks before its time a frame is decoded. 0 means as few as
	// possible, which depends on all frames. If it is too short, some frames are
	// decoded later than they are shown, which not every player likes.
	Delay int64
}

// Assemble writes one rendition file to w: the frames of all chunk files in
// order and the pieces of the audio, if there are any. The same inputs always
// give the same bytes.
//
// The chunk files must share a time scale and follow each other in time, and no
// two frames may have the same presentation time. A chunk file without frames
// adds nothing. The presentation times stay exactly what the edit lists of the
// chunk files make them.
func Assemble(w io.Writer, chunks []Input, audio []Input, timing Timing) (Summary, error) {
	video, err := newVideoTrack(chunks, timing)
	if err != nil {
		return Summary{}, fmt.Errorf("join the video: %w", err)
	}
	tracks := []*trackBuilder{video}
	if len(audio) > 0 {
		track, err := newAudioTrack(audio)
		if err != nil {
			return Summary{}, fmt.Errorf("read the audio: %w", err)
		}
		tracks = append(tracks, track)
	}
	return writeFile(w, tracks, video.scale)
}

// writeFile writes a file of these tracks. Its edit lists have the time scale of the edit lists of such a video.
func writeFile(w io.Writer, tracks []*trackBuilder, videoScale uint32) (Summary, error) {
	f, err := newLayout(tracks, videoScale)
	if err != nil {
		return Summary{}, err
	}
	if err := f.writeHead(w); err != nil {
		return Summary{}, fmt.Errorf("write the head of the file: %w", err)
	}
	if err := f.writeMedia(w); err != nil {
		return Summary{}, err
	}
	return f.summary(), nil
}

// layout is a file whose every byte is decided.
type layout struct {
	tracks []*trackBuilder
	runs   [][]run // of each track
	order  []int   // of the runs in the file, as indexes of tracks
	ftyp   *mp4ff.FtypBox
	moov   *mp4ff.MoovBox

	mdat      int64 // size, header included
	largeMdat bool  // its size takes 64 bits
}

// newLayout lays the tracks out. Where the media starts depends on the size of
// the movie box, and that on whether offsets take 32 or 64 bits; 32 are tried
// first. The size of either box does not depend on the values of the offsets.
func newLayout(tracks []*trackBuilder, videoScale uint32) (*layout, error) {
	f := &layout{tracks: tracks, ftyp: fileType(tracks[0].entries[0].Type())}
	for _, r := range tracks {
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
		if f.moov, err = buildMoov(tracks, videoScale, f.runs, wide); err != nil {
			return nil, err
		}
		if f.size() <= math.MaxUint32 {
			break
		}
	}
	if f.moov.Size() > math.MaxUint32 {
		return nil, errors.New("the video has too many samples for one movie box")
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
		Frames:   len(f.tracks[0].sizes),
		Duration: ticks(int64(f.moov.Mvhd.Duration), f.moov.Mvhd.Timescale),
		Size:     f.size(),
	}
	s.Width, s.Height = frameSize(f.tracks[0].entries[0])
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
// the inputs are read in large steps whatever the length of a run.
func (f *layout) writeMedia(w io.Writer) error {
	streams := make([]*bufio.Reader, len(f.tracks))
	for i, r := range f.tracks {
		streams[i] = bufio.NewReaderSize(&sourceReader{sources: r.sources}, copyBuffer)
	}
	next := make([]int, len(f.tracks))
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

// sourceReader reads the bytes of sources one after the other.
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
