package probe

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/video"
)

// Video chooses the stream that is the video, and returns a *video.Failure for
// one that can never be decoded.
func (f *Result) Video() (Stream, error) {
	if f.Still != "" {
		return f.still, nil
	}
	streams := f.videoStreams()
	if len(streams) == 0 {
		return Stream{}, f.noVideo()
	}
	best := slices.MaxFunc(streams, func(a, b Stream) int {
		return cmp.Or(
			cmp.Compare(f.decodable(a), f.decodable(b)),
			cmp.Compare(f.moving(a), f.moving(b)),
			cmp.Compare(a.Disposition["default"], b.Disposition["default"]),
			cmp.Compare(a.Width*a.Height, b.Width*b.Height),
		)
	})
	return best, f.usable(best)
}

// decodable is 1 for a stream that looks as if it can be decoded, else 0.
func (f *Result) decodable(s Stream) int {
	if f.usable(s) != nil {
		return 0
	}
	return 1
}

// moving is 1 for a video and 0 for a track of few frames beside a video, such
// as the best shots that some phones store.
func (f *Result) moving(s Stream) int {
	line := f.Timelines[s.Index]
	if line != nil && line.Packets*4 >= f.frames/max(1, len(f.videoStreams())) {
		return 1
	}
	return 0
}

// isMP4 reports whether the file is an MP4, QuickTime or 3GP file.
func (f *Result) isMP4() bool { return strings.HasPrefix(f.Format.Name, "mov,") }

// videoStreams returns the video streams that are not attached pictures.
func (f *Result) videoStreams() []Stream {
	var streams []Stream
	for _, s := range f.Streams {
		if s.Type == "video" && s.Disposition["attached_pic"] == 0 {
			streams = append(streams, s)
		}
	}
	return streams
}

// usable returns why a video stream cannot be decoded, or nil.
func (f *Result) usable(s Stream) error {
	line := f.Timelines[s.Index]
	switch {
	case s.Tag == "encv", line != nil && line.encrypted:
		return video.Failf(video.Encrypted, "The video is encrypted (DRM) and cannot be read.")
	case s.unknownCodec():
		return unsupported(printable(s.Tag))
	case slices.Contains(f.refused, s.Codec):
		return unsupported(s.Codec)
	case s.Height > 0 && s.Width > ffmpeg.MaxPixels/s.Height: // the product may be too large for any integer
		return video.Failf(video.TooManyPixels, "The picture has %d × %d pixels; at most %d can be processed.", s.Width, s.Height, ffmpeg.MaxPixels)
	case s.Width <= 0, s.Height <= 0, s.PixelFormat == "", line == nil, len(line.Shown)+len(line.LeadIn) == 0:
		return ffmpeg.Undecodable()
	}
	return nil
}

// unknownCodec reports whether ffprobe does not know the codec of a stream.
func (s Stream) unknownCodec() bool {
	return s.Codec == "" || s.Codec == "none" || s.Codec == "unknown"
}

// CodecName returns what a stream's format is called, as far as it is known.
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

// noVideo is the failure of a file without a video stream.
func (f *Result) noVideo() error {
	for _, s := range f.Streams {
		if s.Type == "audio" {
			return video.Failf(video.NoVideoStream, "The file holds audio but no video.")
		}
	}
	return video.Failf(video.NoVideoStream, "The file holds no video.")
}

// Audio returns the audio tracks that play while there is a picture: the default one first, then the others in the
// order of the file.
func (f *Result) Audio(of Stream) []Stream {
	var tracks []Stream
	for _, s := range f.Streams {
		if s.Type == "audio" && f.AudioFailure(s) == "" && f.plays(of, s) {
			tracks = append(tracks, s)
		}
	}
	slices.SortStableFunc(tracks, func(a, b Stream) int { return cmp.Compare(a.Index, b.Index) })
	if i := slices.IndexFunc(tracks, func(s Stream) bool { return s.Disposition["default"] != 0 }); i > 0 {
		first := tracks[i]
		tracks = slices.Insert(slices.Delete(tracks, i, i+1), 0, first)
	}
	return tracks
}

// plays reports whether an audio track has something to hear while there is a picture.
func (f *Result) plays(of, track Stream) bool {
	before, after := f.AudioApart(of, track)
	return f.Timelines[track.Index] != nil && ParseRatio(track.TimeBase).Den > 0 && !before && !after
}

// AudioApart reports whether all of an audio track comes before the first frame of
// a video stream, or after its last one. Clocks that jump do not tell.
func (f *Result) AudioApart(of, track Stream) (before, after bool) {
	pictures, sound := f.Timelines[of.Index], f.Timelines[track.Index]
	if pictures == nil || sound == nil || sound.Packets == 0 {
		return false, false
	}
	frames, samples := ParseRatio(of.TimeBase), ParseRatio(track.TimeBase)
	start := frames.Seconds(pictures.First)
	before = samples.Seconds(sound.First) < start && samples.Seconds(sound.End) <= start && len(sound.Jumps()) == 0 && len(pictures.Jumps()) == 0
	after = samples.Seconds(sound.First) > frames.Seconds(pictures.End)
	return before, after
}

// AudioAbsent reports whether nothing is there of an audio track that the file lists packets of: it may have been cut
// off exactly before them.
func (f *Result) AudioAbsent(s Stream) bool { return s.Frames > 0 && f.Timelines[s.Index] == nil }

// AudioFailure returns why an audio track cannot be decoded, or "".
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

// SeeksExactly reports whether seeking to a keyframe lands exactly there: the
// container has an index, and a single video stream that the index can be about.
func (f *Result) SeeksExactly() bool {
	if f.Still != "" {
		return true // no frame is sought: they are all the same
	}
	if !f.isMP4() && !strings.HasPrefix(f.Format.Name, "matroska,") {
		return false
	}
	return len(f.videoStreams()) == 1
}

// EndsEarly reports whether the last packet comes long before the end that the
// container announces.
func (f *Result) EndsEarly() bool {
	if f.hasAllPackets() {
		return false // an absurd time scale can announce any duration
	}
	return f.missing() > max(1, f.announcedEnd()/50)
}

// missing returns how many seconds lie between the last packet and the end that
// the container announces.
func (f *Result) missing() float64 {
	end := 0.0
	for _, s := range f.Streams {
		if l, b := f.Timelines[s.Index], ParseRatio(s.TimeBase); l != nil && b.Den > 0 {
			end = max(end, b.Seconds(l.End))
		}
	}
	return f.announcedEnd() - end
}

// announcedEnd returns the end that the container announces. Containers count their
// duration from zero: if a recording begins an hour later, its duration includes that hour.
func (f *Result) announcedEnd() float64 {
	return min(f.Format.Start, 0) + f.Format.Duration
}

// ParseRatio reads "1/90000" or "16:15". A text that it cannot read gives 0/0.
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
