package media

import (
	"github.com/spool-video/spool/internal/video"
)

// warnings lists what a person should know about a film, as far as its packets
// tell. What decoding tells is added by video.Plan.Verdict.
func (f *findings) warnings(p *video.Plan, film stream) []video.Warning {
	var out []video.Warning
	if seconds, ok := f.cutOff(film); ok {
		out = append(out, video.Warnf(video.Truncated, "The file is cut off after %s; the part that could be read was converted.", video.Lasting(seconds)))
	}
	if seconds := f.headless(film); seconds >= 0.5 {
		out = append(out, video.Warnf(video.Corrupt, "The first %s hold no picture that can be decoded; the film begins after them.", video.Lasting(seconds)))
	}
	if p.Audio == nil {
		out = append(out, f.soundless()...)
	}
	return out
}

// cutOff compares how much a file announces with how much it holds, and returns
// after how many seconds it ends too early. Containers that announce nothing
// cannot be judged.
func (f *findings) cutOff(film stream) (seconds float64, ok bool) {
	line, tb := f.timelines[film.Index], parseRatio(film.TimeBase)
	switch f.format.Name {
	case "avi": // ffmpeg believes the file's size more than its header
		ok = line.packets < film.Frames-film.Frames/50-1
	case "mpegts", "mpeg", "ogg", "h264", "mpegvideo":
		return 0, false // what they call their length is measured
	default:
		ok = f.endsEarly()
	}
	return tb.Seconds(line.last + line.lastTick - line.first), ok
}

// endsEarly reports whether the last packet comes long before the end that the
// container announces.
func (f *findings) endsEarly() bool {
	end := 0.0
	for _, s := range f.streams {
		if l, b := f.timelines[s.Index], parseRatio(s.TimeBase); l != nil && b.Den > 0 {
			end = max(end, b.Seconds(l.end))
		}
	}
	announced := f.format.Start + f.format.Duration
	return announced-end > max(1, announced/50)
}

// headless returns how many seconds precede the first keyframe.
func (f *findings) headless(film stream) float64 {
	line, tb := f.timelines[film.Index], parseRatio(film.TimeBase)
	if len(line.early) == 0 || len(line.keys) == 0 {
		return 0
	}
	return tb.Seconds(line.first - line.early[0])
}

// soundless explains why a film is silent that has sound tracks.
func (f *findings) soundless() []video.Warning {
	for _, s := range f.streams {
		if s.Type != "audio" {
			continue
		}
		switch f.silent(s) {
		case video.Encrypted:
			return []video.Warning{video.Warnf(video.Encrypted, "The sound is encrypted and cannot be read; the film is silent.")}
		case video.UnsupportedCodec:
			return []video.Warning{video.Warnf(video.UnsupportedCodec, "The sound is stored in a format (%s) that cannot be decoded here; the film is silent.", nameOf(s))}
		case video.Corrupt:
			return []video.Warning{video.Warnf(video.Corrupt, "The sound is damaged and could not be decoded; the film is silent.")}
		}
	}
	return nil
}

// nameOf returns what a stream's format is called, as well as it is known.
func nameOf(s stream) string {
	if s.nameless() {
		return printable(s.Tag)
	}
	return s.Codec
}
