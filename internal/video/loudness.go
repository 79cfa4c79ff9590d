package video

import (
	"fmt"
	"slices"
)

// Levelling is what becomes of the loudness of sound tracks.
type Levelling string

const (
	KeepLoudness      Levelling = "keep"      // each is as loud as in its file
	NormalizeLoudness Levelling = "normalize" // all are equally loud
)

// Levellings lists every choice, the default first.
var Levellings = []Levelling{KeepLoudness, NormalizeLoudness}

const (
	// DefaultLoudness is how loud tracks become under NormalizeLoudness unless the operator decides otherwise, in LUFS.
	DefaultLoudness = -16.0
	// MinLoudness and MaxLoudness are what an operator may choose.
	MinLoudness, MaxLoudness = -31.0, -10.0
	// MaxTruePeak is how high a track may reach between its samples under NormalizeLoudness, in dBTP.
	MaxTruePeak = -1.0
)

// checkLoudness returns what is wrong with the choice of a client; "" is the server's.
func checkLoudness(choice Levelling) []Fault {
	if choice == "" || slices.Contains(Levellings, choice) {
		return nil
	}
	return []Fault{{"loudness", "not_allowed", fmt.Sprintf("must be one of %v", Levellings)}}
}

// Loudness is how loud a sound track is in its file, as EBU R 128 measures it, and by how much it is made louder. It is
// stored as JSON, so fields may be added but never change their meaning.
type Loudness struct {
	Integrated *float64 `json:"integrated,omitempty"` // LUFS; nil: silence, or too short
	Range      *float64 `json:"range,omitempty"`      // LU; likewise, and below 4 s
	TruePeak   *float64 `json:"truePeak,omitempty"`   // dBTP; nil: digital silence
	Gain       float64  `json:"gain"`                 // dB, constant over the track
	// Limit is how high the peaks of the track may reach before it is encoded, in dBFS; nil: no limiter is needed.
	Limit *float64 `json:"limit,omitempty"`
}

// Levelled returns a plan of one sound track with the gain and the limit of that track.
func (p *Plan) Levelled(l *Loudness) *Plan {
	if l == nil || p.Audio == nil {
		return p
	}
	one, audio := *p, *p.Audio
	audio.Gain, audio.Limit, one.Audio = l.Gain, l.Limit, &audio
	return &one
}
