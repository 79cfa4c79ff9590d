package probe

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/video"
)

// chooseVideo picks the stream that is the film, and refuses those that can
// never be shown.
func (f *Result) Video() (Stream, error) {
	films := f.videoStreams()
	if len(films) == 0 {
		return Stream{}, f.noVideo()
	}
	best := slices.MaxFunc(films, func(a, b Stream) int {
		return cmp.Or(
			cmp.Compare(f.decodable(a), f.decodable(b)),
			cmp.Compare(f.moving(a), f.moving(b)),
			cmp.Compare(a.Disposition.Default, b.Disposition.Default),
			cmp.Compare(a.Width*a.Height, b.Width*b.Height),
		)
	})
	return best, f.usable(best)
}

// decodable is 1 for a stream that looks as if it could be decoded, else 0.
func (f *Result) decodable(s Stream) int {
	if f.usable(s) != nil {
		return 0
	}
	return 1
}

// moving is 1 for a film and 0 for a track of few pictures beside a film, such
// as the best shots that some phones store.
func (f *Result) moving(s Stream) int {
	line := f.Timelines[s.Index]
	if line != nil && line.Packets*4 >= f.frames/max(1, len(f.videoStreams())) {
		return 1
	}
	return 0
}

// films returns the video streams that are not pictures attached to the file.
func (f *Result) videoStreams() []Stream {
	var films []Stream
	for _, s := range f.Streams {
		if s.Type == "video" && s.Disposition.AttachedPic == 0 {
			films = append(films, s)
		}
	}
	return films
}

// check returns why a video stream cannot be shown.
func (f *Result) usable(s Stream) error {
	line := f.Timelines[s.Index]
	switch {
	case s.Tag == "encv", line != nil && line.encrypted:
		return video.Failf(video.Encrypted, "The film is encrypted (DRM) and cannot be read.")
	case s.unknownCodec():
		return unsupported(printable(s.Tag))
	case slices.Contains(f.refused, s.Codec):
		return unsupported(s.Codec)
	case s.Width*s.Height > ffmpeg.MaxPixels:
		return video.Failf(video.TooManyPixels, "The picture has %d × %d pixels; at most %d can be processed.", s.Width, s.Height, ffmpeg.MaxPixels)
	case s.Width <= 0, s.Height <= 0, s.PixelFormat == "", line == nil, len(line.Shown)+len(line.LeadIn) == 0:
		return ffmpeg.Undecodable()
	}
	return nil
}

// nameless reports whether ffprobe does not know the codec of a stream.
func (s Stream) unknownCodec() bool {
	return s.Codec == "" || s.Codec == "none" || s.Codec == "unknown"
}

// nameOf returns what a stream's format is called, as well as it is known.
func CodecName(s Stream) string {
	if s.unknownCodec() {
		return printable(s.Tag)
	}
	return s.Codec
}

// printable returns a four-letter code as a person would write it.
func printable(tag string) string {
	if tag == "" || strings.Contains(tag, "[") { // ffprobe writes "[0][0][0][0]" for bytes
		return "unknown"
	}
	return tag
}

func (f *Result) noVideo() error {
	for _, s := range f.Streams {
		if s.Type == "audio" {
			return video.Failf(video.NoVideoStream, "The file holds sound but no picture.")
		}
	}
	return video.Failf(video.NoVideoStream, "The file holds no picture.")
}

// chooseAudio picks the sound track: the default one, else the first. Sound
// that begins only after the last picture is none.
func (f *Result) Audio(film Stream) *Stream {
	filmEnd := ParseRatio(film.TimeBase).Seconds(f.Timelines[film.Index].End)
	var tracks []Stream
	for _, s := range f.Streams {
		line := f.Timelines[s.Index]
		tb := ParseRatio(s.TimeBase)
		if s.Type != "audio" || f.AudioFailure(s) != "" || line == nil || tb.Den <= 0 {
			continue
		}
		if tb.Seconds(line.First) <= filmEnd {
			tracks = append(tracks, s)
		}
	}
	if len(tracks) == 0 {
		return nil
	}
	best := slices.MaxFunc(tracks, func(a, b Stream) int {
		return cmp.Or(cmp.Compare(a.Disposition.Default, b.Disposition.Default), cmp.Compare(b.Index, a.Index))
	})
	return &best
}

// silent returns why nothing can be heard of a sound track, or "".
func (f *Result) AudioFailure(s Stream) video.FailureCode {
	line := f.Timelines[s.Index]
	switch {
	case s.Tag == "enca", line != nil && line.encrypted:
		return video.Encrypted
	case s.unknownCodec(), slices.Contains(f.refused, s.Codec):
		return video.UnsupportedCodec
	case s.Channels <= 0:
		return video.Corrupt
	}
	return ""
}

// seeksReliably reports whether seeking to a keyframe lands exactly there: the
// container has an index, and one film only that the index can be about.
func (f *Result) SeeksExactly() bool {
	if c := f.Format.Name; !strings.HasPrefix(c, "mov,") && !strings.HasPrefix(c, "matroska,") {
		return false
	}
	return len(f.videoStreams()) == 1
}

// endsEarly reports whether the last packet comes long before the end that the
// container announces.
func (f *Result) EndsEarly() bool {
	end := 0.0
	for _, s := range f.Streams {
		if l, b := f.Timelines[s.Index], ParseRatio(s.TimeBase); l != nil && b.Den > 0 {
			end = max(end, b.Seconds(l.End))
		}
	}
	announced := f.Format.Start + f.Format.Duration
	return announced-end > max(1, announced/50)
}

// parseRatio reads "1/90000" or "16:15". What it cannot read is 0/0.
func ParseRatio(s string) video.Ratio {
	i := strings.IndexAny(s, "/:")
	if i < 0 {
		return video.Ratio{}
	}
	num, err1 := strconv.Atoi(s[:i])
	den, err2 := strconv.Atoi(s[i+1:])
	if err1 != nil || err2 != nil {
		return video.Ratio{}
	}
	return video.Ratio{Num: num, Den: den}
}
