package video

// Still is what is shown of a file that has sound and no picture: one picture, from its beginning to its end.
type Still string

const (
	// Cover is the picture that the file brings.
	Cover Still = "cover"
	// Waveform is drawn of its sound.
	Waveform Still = "waveform"
)

// StillRate is how many frames a second show a still. Fewer cost less, but a video that is played while it is encoded
// has to tell when frames are decoded, and its players reorder two of them (see Early.Delay).
const StillRate = 5

// IsStill reports whether the video shows a picture that was made beside its file when that was inspected.
func (p *Plan) IsStill() bool { return p.Input.Still != "" }
