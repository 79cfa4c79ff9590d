package mp4

import (
	"fmt"
	"io"
	"slices"
)

// Rendition says what a finished rendition file holds.
type Rendition struct {
	Frames  int
	Audio   bool  // it has an audio track
	Picture int64 // bytes of the video track, without the tables
}

// ReadRendition reads the tables of a file that Assemble made.
func ReadRendition(p Input) (Rendition, error) {
	moov, err := p.leadingMoov()
	if err != nil {
		return Rendition{}, err
	}
	var r Rendition
	for _, trak := range moov.Traks {
		t, err := readTrack(moov, trak, p.Size)
		if err != nil {
			return Rendition{}, err
		}
		if t.isVideo() {
			r.Frames = len(t.sizes)
			for _, size := range t.sizes {
				r.Picture += int64(size)
			}
		} else {
			r.Audio = true
		}
	}
	return r, nil
}

// readAudio reads the tables of a piece of the audio, or of the audio track in a
// finished rendition file.
func readAudio(p Input) (*Piece, error) { return readKind(p, false) }

// readKind reads the tables of the track with pictures, or with sound, in a file. Of a file with one track it reads that.
func readKind(p Input, pictures bool) (*Piece, error) {
	boxes, err := p.topBoxes()
	if err != nil {
		return nil, err
	}
	moov, err := p.readMoov(boxes, maxMoov)
	if err != nil {
		return nil, err
	}
	if len(moov.Traks) < 2 {
		return ReadPiece(p)
	}
	for _, trak := range moov.Traks {
		if t, err := readTrack(moov, trak, p.Size); err != nil || t.isVideo() == pictures {
			return &Piece{track: t, Input: p}, err
		}
	}
	return nil, ErrNoFrames
}

// ReplaceSound writes a rendition file again, with another sound track: the one in the file sound. The frames are the same
// to the byte, and so are their segments.
func ReplaceSound(w io.Writer, film, sound Input) (Summary, error) {
	p, err := readKind(film, true)
	if err != nil {
		return Summary{}, fmt.Errorf("read the video: %w", err)
	}
	first := slices.Min(p.pts)
	video, err := joinVideo([]*Piece{p}, Timing{Delay: p.edit.mediaTime - max(-first, 0)})
	if err != nil {
		return Summary{}, fmt.Errorf("read the video: %w", err)
	}
	track, err := newAudioTrack([]Input{sound})
	if err != nil {
		return Summary{}, fmt.Errorf("read the audio: %w", err)
	}
	return writeFile(w, []*trackBuilder{video, track}, video.scale)
}
