package mp4

import (
	"errors"
	"fmt"
	"unsafe"

	mp4ff "github.com/Eyevinn/mp4ff/mp4"
)

// Index is what it takes to send a rendition file in segments: when the samples
// of its tracks are shown and where they are. It holds no media and is
// immutable, so it may be used from many goroutines at once.
type Index struct {
	Video *Segments // nil for a sound track alone
	Audio *Segments // nil for a silent video
}

// ReadIndex reads the tables of a file that Assemble made. It reads no further
// than the end of the movie box, which comes before the media.
func ReadIndex(file Input) (*Index, error) {
	moov, err := file.leadingMoov()
	if err != nil {
		return nil, fmt.Errorf("read the index of the file: %w", err)
	}
	x := &Index{}
	for i, trak := range moov.Traks {
		t, err := readTrack(moov, trak, file.Size)
		if err != nil {
			return nil, fmt.Errorf("read track %d of the file: %w", i+1, err)
		}
		place := &x.Audio
		if t.isVideo() {
			place = &x.Video
		}
		if *place != nil {
			return nil, errors.New("the file has two tracks of a kind")
		}
		if *place, err = newSegments(t, moov.Mvhd.Timescale, false); err != nil {
			return nil, fmt.Errorf("cut track %d of the file: %w", i+1, err)
		}
	}
	if x.Video == nil && x.Audio == nil {
		return nil, ErrNoFrames
	}
	return x, nil
}

// leadingMoov reads the movie box of a file in which it comes before the media.
func (p Input) leadingMoov() (*mp4ff.MoovBox, error) {
	for at, n := int64(0), 0; at < p.Size && n < maxTopBoxes; n++ {
		b, err := p.topBoxAt(at)
		if err != nil {
			return nil, fmt.Errorf("read the box at byte %d: %w", at, err)
		}
		switch b.name {
		case "moov":
			return p.readMoov([]topBox{b}, maxMoov)
		case "mdat", "moof":
			return nil, fmt.Errorf("%q comes before the movie box", b.name)
		}
		at = b.end()
	}
	return nil, errors.New("the file has no movie box")
}

// Footprint returns about how many bytes of memory the index takes.
func (x *Index) Footprint() int64 {
	return x.Video.footprint() + x.Audio.footprint()
}

func (s *Segments) footprint() int64 {
	if s == nil {
		return 0
	}
	return int64(unsafe.Sizeof(*s)) + int64(len(s.Init)) +
		int64(cap(s.samples))*int64(unsafe.Sizeof(sample{})) + int64(cap(s.sync))*4 +
		int64(cap(s.spans))*int64(unsafe.Sizeof(span{})) + int64(cap(s.list))*int64(unsafe.Sizeof(Segment{}))
}
