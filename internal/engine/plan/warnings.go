package plan

import (
	"time"

	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

// warnings lists what a person should know about a source, as far as its packets
// tell. What decoding tells is added by video.Plan.Verdict.
func warnings(f *probe.Result, p *video.Plan, stream probe.Stream) []video.Warning {
	var out []video.Warning
	line := f.Timelines[stream.Index]
	if seconds, ok := truncatedAfter(f, stream); ok && line.Until() == video.Forever {
		out = append(out, video.Warnf(video.Truncated, "The file is cut off after %s; the video ends there.", video.Lasting(seconds)))
	}
	if seconds := undecodableStart(f, stream); seconds >= 0.5 && !line.BeginsLate() {
		out = append(out, video.Warnf(video.Corrupt, "The first %s hold no picture that can be decoded; the video begins after them.", video.Lasting(seconds)))
	}
	if onePacketPerFrame(stream, line) && line.Doubled >= 3 && line.Doubled*50 >= line.Packets {
		out = append(out, video.Warnf(video.Corrupt, "The times of the frames are damaged: %d of %d frames have the time of another one and are not shown.", line.Doubled, line.Packets))
	}
	if p.Audio == nil {
		out = append(out, missingAudio(f, stream)...)
	} else if p.Audio.Early >= longEarlyAudio && len(out) == 0 {
		out = append(out, video.Warnf(video.Corrupt, "The first %s of the audio were left out: they come before the first picture, at which the video begins.", video.Lasting(p.Audio.Early.Seconds())))
	}
	if n := len(f.Audio(stream)); n > video.MaxEmbeddedTracks {
		out = append(out, video.Warnf(video.TooManyTracks, "The file has %d sound tracks; the first %d of them are made.", n, video.MaxEmbeddedTracks))
	}
	return out
}

// longEarlyAudio is how much audio before the first frame causes a warning. Many
// recordings have less, which is not missed.
const longEarlyAudio = 2 * time.Second

// truncatedAfter compares how much a file announces with how much it holds, and
// returns after how many seconds it ends too early. Files that announce nothing
// cannot be judged.
func truncatedAfter(f *probe.Result, stream probe.Stream) (seconds float64, ok bool) {
	line, tb := f.Timelines[stream.Index], probe.ParseRatio(stream.TimeBase)
	switch f.Format.Name {
	case "avi": // ffmpeg trusts the file's size more than its header
		ok = line.Packets < stream.Frames-stream.Frames/50-1
	case "mpegts", "mpeg", "ogg", "h264", "hevc", "dv", "mpegvideo", "mp3", "aac", "ac3", "eac3", "amr":
		ok = f.CutOff // their duration is measured or estimated, not announced
	default:
		ok = f.CutOff || f.EndsEarly()
	}
	return tb.Seconds(line.Last + line.LastDuration - line.First), ok
}

// undecodableStart returns how many seconds precede the first keyframe.
func undecodableStart(f *probe.Result, stream probe.Stream) float64 {
	line, tb := f.Timelines[stream.Index], probe.ParseRatio(stream.TimeBase)
	if len(line.LeadIn) == 0 || len(line.Keys) == 0 {
		return 0
	}
	return tb.Seconds(line.First - line.LeadIn[0])
}

// missingAudio explains why a video is silent that has audio tracks.
func missingAudio(f *probe.Result, stream probe.Stream) []video.Warning {
	for _, s := range f.Streams {
		if s.Type != "audio" {
			continue
		}
		switch f.AudioFailure(s) {
		case video.Encrypted:
			return []video.Warning{video.Warnf(video.Encrypted, "The audio is encrypted and cannot be read; the video is silent.")}
		case video.UnsupportedCodec:
			return []video.Warning{video.Warnf(video.UnsupportedCodec, "The audio is stored in a format (%s) that cannot be decoded here; the video is silent.", probe.CodecName(s))}
		case video.Corrupt:
			return []video.Warning{video.Warnf(video.Corrupt, "The audio is damaged and could not be decoded; the video is silent.")}
		}
		switch before, after := f.AudioApart(stream, s); {
		case f.AudioAbsent(s):
			return []video.Warning{video.Warnf(video.Corrupt, "The file lists audio but holds none of it; the video is silent.")}
		case f.AudioCutOut(s):
			return []video.Warning{video.Warnf(video.Corrupt, "The edit list of the file leaves nothing of the audio; the video is silent.")}
		case before:
			return []video.Warning{video.Warnf(video.Corrupt, "All of the audio comes before the first picture, at which the video begins; the video is silent.")}
		case after:
			return []video.Warning{video.Warnf(video.Corrupt, "All of the audio comes after the last picture, at which the video ends; the video is silent.")}
		}
	}
	return nil
}
