package video

import (
	"slices"
	"time"
)

// Early says how a video is made that can be played while it is still being
// encoded. It is part of the plan of the first pass.
type Early struct {
	// Large is how many renditions, the first ones of the plan, are encoded after
	// all chunks of the others.
	Large int `json:"large,omitempty"`
	// Delay is how many ticks of Plan.Timescale before its time each frame is
	// decoded. It is the same in all parts, however the encoder reorders them.
	Delay int64 `json:"delay"`
	// Pieces are the packets of the audio at which a new piece begins; the first
	// piece begins at packet 0.
	Pieces []int64 `json:"pieces,omitempty"`
	// Began is when the work on the chunks began.
	Began time.Time `json:"began,omitzero"`
}

// Set is a part of the renditions of a pass that are encoded with one decode.
type Set int

const (
	FirstSet   Set = iota // all renditions or, of a video with Early.Large, the small ones
	LargeSet              // the others
	RecodedSet            // those that were to be copied and have to be encoded after all
)

// SetOf returns the set that a rendition belongs to.
func (p *Plan) SetOf(rendition int) Set {
	switch {
	case p.Renditions[rendition].Making == Recoded:
		return RecodedSet
	case p.Early != nil && rendition < p.First+p.Early.Large:
		return LargeSet
	}
	return FirstSet
}

// Only returns the plan as if the renditions of one set of the current pass were all of it, and their indexes.
func (p *Plan) Only(s Set) (part *Plan, indexes []int) {
	pass := p.Pass()
	pass.Renditions = nil
	for n := p.First; n < len(p.Renditions); n++ {
		if p.SetOf(n) == s {
			pass.Renditions, indexes = append(pass.Renditions, p.Renditions[n]), append(indexes, n)
		}
	}
	return pass, indexes
}

// PlaysEarly reports whether people may watch a rendition of the current pass while its chunks are being made. What is
// copied may turn out to be damaged, and is then made anew.
func (p *Plan) PlaysEarly(rendition int) bool {
	return rendition >= p.First && p.SetOf(rendition) == FirstSet && p.Renditions[rendition].Making == Encoded
}

// DecodeDelay is Early.Delay, or 0 for a video that has none.
func (p *Plan) DecodeDelay() int64 {
	if p.Early == nil {
		return 0
	}
	return p.Early.Delay
}

// Sounds is how many sound tracks of the file are made. The first one is Plan.Audio.
func (p *Plan) Sounds() int {
	if p.Audio == nil {
		return 0
	}
	return 1 + len(p.Others)
}

// Sound returns the plan as if one of its sound tracks were the only one.
func (p *Plan) Sound(track int) *Plan {
	if track == 0 {
		return p
	}
	one := *p
	one.Audio, one.Others = &p.Others[track-1], nil
	return &one
}

// maxAudioPieces is more than the pieces of a sound track ever are.
const maxAudioPieces = 16

// AudioTask returns the number of the task that makes a piece of a sound track, and AudioOf what a number means. The
// first track has the numbers of its pieces.
func AudioTask(track, piece int) int { return track*maxAudioPieces + piece }

// AudioOf is the opposite of AudioTask.
func AudioOf(task int) (track, piece int) { return task / maxAudioPieces, task % maxAudioPieces }

// AudioPieces is how many pieces the audio is encoded in.
func (p *Plan) AudioPieces() int {
	switch {
	case p.Audio == nil:
		return 0
	case p.Early == nil:
		return 1
	}
	return len(p.Early.Pieces) + 1
}

// AudioPiece returns the packets of piece n of the audio: from (included) to to
// (excluded), which is Forever for the last one.
func (p *Plan) AudioPiece(n int) (from, to int64) {
	borders := []int64{0}
	if p.Early != nil {
		borders = slices.Concat(borders, p.Early.Pieces)
	}
	borders = append(borders, Forever)
	return borders[n], borders[n+1]
}

// Playable reports whether the streams of a video can be played from the
// beginning now.
func (v *Video) Playable() bool {
	growing := v.Status == Processing && !v.PlayableAt.IsZero() && v.Plan != nil && v.Plan.Early != nil
	return slices.ContainsFunc(v.Resolutions, func(r Resolution) bool {
		if growing && r.Status == Processing { // one that is made anew after a failure is in no plan
			n := v.Plan.RenditionOf(r.Name)
			return v.Plan.PlaysEarly(n)
		}
		return r.Status == Ready
	})
}
