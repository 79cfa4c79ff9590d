package video

import (
	"fmt"
	"time"
)

// Warning is what a person should know about a video that is ready nonetheless.
type Warning struct {
	Code    FailureCode `json:"code"`
	Message string      `json:"message"` // a sentence
}

// Warnf makes a Warning with a formatted sentence.
func Warnf(code FailureCode, format string, args ...any) Warning {
	f := Failf(code, format, args...)
	return Warning{Code: f.Code, Message: f.Message}
}

// Verdict returns all warnings about a video that has been encoded: the plan's
// warnings, and what only decoding could show. frames are how many frames each chunk
// turned out to have, in order; audio says whether the outputs have audio.
func (p *Plan) Verdict(frames []int, audio bool) []Warning {
	out := append([]Warning(nil), p.Warnings...)
	if w, ok := p.missing(frames); ok {
		out = append(out, w)
	}
	switch {
	case p.Audio == nil:
	case !audio:
		out = append(out, Warnf(Corrupt, "The audio is damaged and could not be decoded; the video is silent."))
	case p.Audio.audiblyLost(p.Duration):
		out = append(out, Warnf(Corrupt, "The audio is damaged: %s of it could not be decoded and is silent.", Lasting(p.Audio.Lost.Seconds())))
	}
	return out
}

// How much audio has to be lost before a warning is given. The first and the last packets of many good
// files cannot be decoded, which is inaudible.
const (
	MinLostAudio  = 500 * time.Millisecond
	muchLostAudio = 5 * time.Second // also of a long video
)

// audiblyLost reports whether people notice what is missing of the audio of a video.
func (a *Audio) audiblyLost(of time.Duration) bool {
	return a.Lost >= muchLostAudio || a.Lost >= MinLostAudio && a.Lost*50 >= of
}

// missing compares the frames decoded with those announced. Many good videos lose
// a few at the beginning or the end, which is invisible.
func (p *Plan) missing(frames []int) (Warning, bool) {
	announced, decoded := 0, 0
	for i, c := range p.Chunks {
		if c.Frames == 0 || i >= len(frames) {
			continue
		}
		announced += c.Frames
		decoded += min(frames[i], c.Frames)
	}
	lost := announced - decoded
	if lost < 3 || lost*50 < announced {
		return Warning{}, false
	}
	return Warnf(Corrupt, "The file is damaged: %d of its %d frames could not be decoded.", lost, announced), true
}

// Lasting writes a duration for people.
func Lasting(seconds float64) string {
	if seconds < 60 {
		return fmt.Sprintf("%.1f s", seconds)
	}
	whole := int(seconds)
	if whole < 3600 {
		return fmt.Sprintf("%d min %d s", whole/60, whole%60)
	}
	return fmt.Sprintf("%d h %d min", whole/3600, whole/60%60)
}
