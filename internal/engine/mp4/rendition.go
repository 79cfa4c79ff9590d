package mp4

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
func readAudio(p Input) (*Piece, error) {
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
		if t, err := readTrack(moov, trak, p.Size); err != nil || !t.isVideo() {
			return &Piece{track: t, Input: p}, err
		}
	}
	return nil, ErrNoFrames
}
