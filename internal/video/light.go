package video

import (
	"fmt"
	"slices"
)

// DynamicRange is how bright, and how colourful, a picture may be.
type DynamicRange string

const (
	SDR DynamicRange = "sdr"
	PQ  DynamicRange = "pq"  // SMPTE ST 2084, as in HDR10
	HLG DynamicRange = "hlg" // of broadcasts and phones
)

// HDR is what becomes of a source that is brighter than ordinary screens. H.264 is always made for these.
type HDR string

const (
	ToSDR   HDR = "sdr"  // what is made beside H.264 is for ordinary screens, too
	KeepHDR HDR = "keep" // what is made beside H.264 keeps the range of the source
)

// HDRs lists every choice, the default first.
var HDRs = []HDR{ToSDR, KeepHDR}

// checkHDR returns what is wrong with the choice of a client. codecs are those that it asks for; nil: the server's.
func checkHDR(choice HDR, codecs []Codec) []Fault {
	switch {
	case choice == "":
		return nil
	case !slices.Contains(HDRs, choice):
		return []Fault{{"hdr", "not_allowed", fmt.Sprintf("must be one of %v", HDRs)}}
	case codecs != nil:
		return CheckKeepsHDR(choice, WithoutH264(codecs))
	}
	return nil
}

// CheckKeepsHDR returns what is wrong if no codec is made beside H.264 that could keep the range of a source.
func CheckKeepsHDR(choice HDR, beside []Codec) []Fault {
	if choice != KeepHDR || len(beside) > 0 {
		return nil
	}
	return []Fault{{"hdr", "not_allowed", "keep needs av1 or hevc in codecs: H.264 is made for ordinary screens"}}
}

// Mastering is the screen on which a video was mastered: the colours of its lights and of its white, as CIE 1931
// coordinates, and its brightest and darkest white in cd/m².
type Mastering struct {
	Red   [2]float64 `json:"red"`
	Green [2]float64 `json:"green"`
	Blue  [2]float64 `json:"blue"`
	White [2]float64 `json:"white"`
	Max   float64    `json:"max"`
	Min   float64    `json:"min"`
}

// LightLevel is how bright the pixels of a video are, in cd/m².
type LightLevel struct {
	Max     int `json:"max"`     // the brightest pixel
	Average int `json:"average"` // the average of the brightest frame
}

// OutputRange returns the range of the renditions that a plan makes.
func (p *Plan) OutputRange() DynamicRange {
	if p.OutputCodec() == H264 || p.Kept == "" {
		return SDR
	}
	return p.Kept
}
