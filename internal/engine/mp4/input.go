package mp4

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// Input is a file to read: a chunk file, which is an ordinary MP4 with a single
// track whose edit list says when it starts, or a finished rendition file.
type Input struct {
	io.ReaderAt
	Size int64
}

// TablesFor returns how large the movie box of a video, or of a sound track, of
// this length may be: several times what 120 frames a second need.
func TablesFor(length time.Duration) int64 {
	const frame, rate = 64, 120
	return min(4<<20+frame*rate*int64(length/time.Second+1), maxMoov)
}

// ErrNoFrames means that a file is a valid MP4 without samples. ffmpeg leaves
// one behind, and exits with success, when no frame reached the encoder.
var ErrNoFrames = errors.New("the file has no frames")

// ErrTimes means that the presentation times of a chunk file contradict each
// other, as in a broken source.
var ErrTimes = errors.New("the times of the frames contradict each other")

// ErrTooLarge means that the tables of a file are larger than any video of its
// length needs.
var ErrTooLarge = errors.New("the tables of the file are too large")

const (
	boxHeader      = 8
	largeBoxHeader = 16

	// maxTopBoxes is far above the five or six that a file of ours has; it keeps
	// a hostile file of tiny boxes from being read header by header.
	maxTopBoxes = 64

	// maxMoov is twice what a video of twelve hours with 60 frames a second
	// needs, and maxSamples more than that. A file above them is taken to be
	// hostile.
	maxMoov    = 128 << 20
	maxSamples = 1 << 23
)

// topBox is the position of a box of the file's top level.
type topBox struct {
	name         string
	offset, size int64
	header       int64 // how many of its first bytes are not its body
}

func (b topBox) end() int64 { return b.offset + b.size }

// topBoxes walks over the top level of a file and reads headers only.
func (p Input) topBoxes() ([]topBox, error) {
	var boxes []topBox
	for at := int64(0); at < p.Size; {
		if len(boxes) == maxTopBoxes {
			return nil, fmt.Errorf("more than %d boxes at the top level", maxTopBoxes)
		}
		b, err := p.topBoxAt(at)
		if err != nil {
			return nil, fmt.Errorf("read the box at byte %d: %w", at, err)
		}
		if b.name == "moof" {
			return nil, errors.New("the file is fragmented")
		}
		boxes = append(boxes, b)
		at = b.end()
	}
	return boxes, nil
}

func (p Input) topBoxAt(at int64) (topBox, error) {
	buf := make([]byte, min(largeBoxHeader, p.Size-at))
	if err := p.readFull(buf, at); err != nil {
		return topBox{}, err
	}
	if len(buf) < boxHeader {
		return topBox{}, io.ErrUnexpectedEOF
	}
	b := topBox{name: string(buf[4:8]), offset: at, header: boxHeader}
	size := uint64(binary.BigEndian.Uint32(buf))
	switch {
	case size == 0: // the last box may leave its size open
		size = uint64(p.Size - at)
	case size == 1 && len(buf) < largeBoxHeader:
		return topBox{}, io.ErrUnexpectedEOF
	case size == 1:
		size, b.header = binary.BigEndian.Uint64(buf[8:]), largeBoxHeader
	}
	if size < uint64(b.header) || size > uint64(p.Size-at) {
		return topBox{}, fmt.Errorf("box %q claims %d bytes, the file has %d left: %w", b.name, size, p.Size-at, io.ErrUnexpectedEOF)
	}
	b.size = int64(size)
	return b, nil
}

// readFull fills buf from byte at on, or fails.
func (p Input) readFull(buf []byte, at int64) error {
	n, err := p.ReadAt(buf, at)
	switch {
	case n == len(buf):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}
	return err
}
