package mp4

import (
	"io"
	"time"
)

// Piece is one encoded part: an ordinary MP4 file with a single track, whose
// edit list says when it starts on the film's time line.
type Piece struct {
	io.ReaderAt
	Size int64
}

// Summary describes an assembled film.
type Summary struct {
	Frames        int
	Duration      time.Duration
	Size          int64
	Width, Height int
}

// Assemble writes one film to w: the pictures of all pieces in order and, when
// audio is not nil, the sound.
func Assemble(w io.Writer, pieces []Piece, audio *Piece) (Summary, error) { panic("todo") }
