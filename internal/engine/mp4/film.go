package mp4

// Film is what is in a finished rendition file.
type Film struct {
	Frames int
	Audio  bool
}

// ReadFilm reads the tables of a file that Assemble made.
func ReadFilm(p Input) (Film, error) {
	moov, err := p.leadingMoov()
	if err != nil {
		return Film{}, err
	}
	var f Film
	for _, trak := range moov.Traks {
		t, err := readTrack(moov, trak, p.Size)
		if err != nil {
			return Film{}, err
		}
		if t.isVideo() {
			f.Frames = len(t.sizes)
		} else {
			f.Audio = true
		}
	}
	return f, nil
}

// readAudio reads the tables of a piece of the audio, or those of the audio in a
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
