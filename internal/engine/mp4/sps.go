package mp4

import (
	"bytes"
	"errors"

	"github.com/Eyevinn/mp4ff/avc"
	"github.com/Eyevinn/mp4ff/bits"
)

// Sequence is what a sequence parameter set of H.264 says of its pictures.
type Sequence struct {
	Profile, Level int // as the standard numbers them: 100 is High, 52 is level 5.2
	ChromaFormat   int // 1 is 4:2:0
	Bits           int // of the deeper of luma and chroma
	Width, Height  int // as displayed, of progressive pictures in 4:2:0
	FramesOnly     bool
	SquarePixels   bool // also if it does not say
}

// errSequence means that a sequence parameter set makes no sense.
var errSequence = errors.New("the sequence parameter set is malformed")

// highProfiles are the profiles whose parameter sets tell the format of the colours.
var highProfiles = []byte{100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135}

// maxCycle is how many reference frames the cycle of picture orders may have.
const maxCycle = 255

// readSequence reads a sequence parameter set as far as the shape of the pixels. The parser of mp4ff reserves as much
// memory as the set asks for.
func readSequence(unit []byte) (Sequence, error) {
	r := bits.NewEBSPReader(bytes.NewReader(unit))
	if avc.GetNaluType(byte(r.Read(8))) != avc.NALU_SPS {
		return Sequence{}, errSequence
	}
	s := Sequence{Profile: int(r.Read(8)), ChromaFormat: 1, Bits: 8, SquarePixels: true}
	r.Read(8) // constraints
	s.Level = int(r.Read(8))
	r.ReadExpGolomb() // its number
	if bytes.IndexByte(highProfiles, byte(s.Profile)) >= 0 {
		s.readColours(r)
	}
	r.ReadExpGolomb() // how frames are numbered
	if err := skipPictureOrder(r); err != nil {
		return Sequence{}, err
	}
	r.ReadExpGolomb() // reference frames
	r.ReadFlag()      // gaps between their numbers
	s.readSize(r)
	if r.ReadFlag() { // usability information
		s.readPixels(r)
	}
	if r.AccError() != nil || s.Width <= 0 || s.Height <= 0 {
		return Sequence{}, errSequence
	}
	return s, nil
}

// readColours reads what the high profiles say of the colours.
func (s *Sequence) readColours(r *bits.EBSPReader) {
	if s.ChromaFormat = int(r.ReadExpGolomb()); s.ChromaFormat == 3 {
		r.ReadFlag() // separate planes
	}
	s.Bits = 8 + int(max(r.ReadExpGolomb(), r.ReadExpGolomb()))
	r.ReadFlag() // lossless
	if !r.ReadFlag() {
		return
	}
	lists := 8
	if s.ChromaFormat == 3 {
		lists = 12
	}
	for i := range lists {
		if !r.ReadFlag() {
			continue
		}
		size := 16
		if i >= 6 {
			size = 64
		}
		skipScalingList(r, size)
	}
}

// skipScalingList reads over a scaling list (7.3.2.1.1.1 of the standard).
func skipScalingList(r *bits.EBSPReader, size int) {
	last, next := 8, 8
	for range size {
		if next != 0 {
			next = (last + r.ReadSignedGolomb() + 256) % 256
		}
		if next != 0 {
			last = next
		}
	}
}

// skipPictureOrder reads over how the order of the pictures is coded.
func skipPictureOrder(r *bits.EBSPReader) error {
	switch r.ReadExpGolomb() {
	case 0:
		r.ReadExpGolomb()
	case 1:
		r.ReadFlag()
		r.ReadSignedGolomb()
		r.ReadSignedGolomb()
		cycle := r.ReadExpGolomb()
		if cycle > maxCycle {
			return errSequence
		}
		for range cycle {
			r.ReadSignedGolomb()
		}
	}
	return nil
}

// readSize reads how large the pictures are, without what is cropped.
func (s *Sequence) readSize(r *bits.EBSPReader) {
	const most = 1 << 14 // blocks; more would overflow below
	width, height := r.ReadExpGolomb()+1, r.ReadExpGolomb()+1
	if s.FramesOnly = r.ReadFlag(); !s.FramesOnly {
		height *= 2
		r.ReadFlag() // fields within frames
	}
	s.Width, s.Height = 16*int(min(width, most)), 16*int(min(height, most))
	r.ReadFlag() // direct prediction
	if !r.ReadFlag() {
		return
	}
	const unit = 2 // pixels of 4:2:0, which is all that is asked for
	s.Width -= unit * int(min(r.ReadExpGolomb()+r.ReadExpGolomb(), 16*most))
	s.Height -= unit * int(min(r.ReadExpGolomb()+r.ReadExpGolomb(), 16*most))
}

// readPixels reads the shape of the pixels.
func (s *Sequence) readPixels(r *bits.EBSPReader) {
	const square, extended = 1, 255
	if !r.ReadFlag() {
		return
	}
	switch r.Read(8) {
	case 0, square:
	case extended:
		width := r.Read(16)
		s.SquarePixels = r.Read(16) == width
	default:
		s.SquarePixels = false
	}
}
