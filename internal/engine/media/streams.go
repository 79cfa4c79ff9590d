package media

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/video"
)

// chooseVideo picks the stream that is the film, and refuses those that can
// never be shown.
func (f *findings) chooseVideo() (stream, error) {
	films := f.films()
	if len(films) == 0 {
		return stream{}, f.pictureless()
	}
	best := slices.MaxFunc(films, func(a, b stream) int {
		return cmp.Or(
			cmp.Compare(f.decodable(a), f.decodable(b)),
			cmp.Compare(f.moving(a), f.moving(b)),
			cmp.Compare(a.Disposition.Default, b.Disposition.Default),
			cmp.Compare(a.Width*a.Height, b.Width*b.Height),
		)
	})
	return best, f.check(best)
}

// decodable is 1 for a stream that looks as if it could be decoded, else 0.
func (f *findings) decodable(s stream) int {
	if f.check(s) != nil {
		return 0
	}
	return 1
}

// moving is 1 for a film and 0 for a track of few pictures beside a film, such
// as the best shots that some phones store.
func (f *findings) moving(s stream) int {
	line := f.timelines[s.Index]
	if line != nil && line.packets*4 >= f.frames/max(1, len(f.films())) {
		return 1
	}
	return 0
}

// films returns the video streams that are not pictures attached to the file.
func (f *findings) films() []stream {
	var films []stream
	for _, s := range f.streams {
		if s.Type == "video" && s.Disposition.AttachedPic == 0 {
			films = append(films, s)
		}
	}
	return films
}

// check returns why a video stream cannot be shown.
func (f *findings) check(s stream) error {
	line := f.timelines[s.Index]
	switch {
	case s.Tag == "encv", line != nil && line.encrypted:
		return video.Failf(video.Encrypted, "The film is encrypted (DRM) and cannot be read.")
	case s.nameless():
		return unsupported(printable(s.Tag))
	case slices.Contains(f.refused, s.Codec):
		return unsupported(s.Codec)
	case s.Width*s.Height > maxPixels:
		return video.Failf(video.TooManyPixels, "The picture has %d × %d pixels; at most %d can be processed.", s.Width, s.Height, maxPixels)
	case s.Width <= 0, s.Height <= 0, s.PixelFormat == "", line == nil, len(line.shown)+len(line.early) == 0:
		return unreadable()
	}
	return nil
}

// nameless reports whether ffprobe does not know the codec of a stream.
func (s stream) nameless() bool { return s.Codec == "" || s.Codec == "none" || s.Codec == "unknown" }

func unreadable() *video.Failure {
	return video.Failf(video.Corrupt, "The file is damaged: its pictures could not be read as video.")
}

func (f *findings) pictureless() error {
	for _, s := range f.streams {
		if s.Type == "audio" {
			return video.Failf(video.NoVideoStream, "The file holds sound but no picture.")
		}
	}
	return video.Failf(video.NoVideoStream, "The file holds no picture.")
}

// printable returns a four-letter code as a person would write it.
func printable(tag string) string {
	if tag == "" || strings.Contains(tag, "[") { // ffprobe writes "[0][0][0][0]" for bytes
		return "unknown"
	}
	return tag
}

// seeksReliably reports whether seeking to a keyframe lands exactly there: the
// container has an index, and one film only that the index can be about.
func (f *findings) seeksReliably() bool {
	if c := f.format.Name; !strings.HasPrefix(c, "mov,") && !strings.HasPrefix(c, "matroska,") {
		return false
	}
	return len(f.films()) == 1
}

// interlaced reports whether the film may hold interlaced frames: the stream
// says so, or says nothing and is of a kind whose frames do. The deinterlacer
// asks each frame.
func interlaced(s stream) bool {
	if s.Width < 4 || s.Height < 4 {
		return false // it needs a few lines to work with
	}
	switch s.FieldOrder {
	case "tt", "bb", "tb", "bt":
		return true
	case "", "unknown":
		return slices.Contains([]string{"dvvideo", "mpeg4", "mpeg2video", "vc1", "mjpeg", "prores"}, s.Codec)
	}
	return false
}

// countable reports whether a packet of this stream makes one picture. Others
// hold pictures that are never shown, packets that say "no change", or halves
// of interlaced frames.
func countable(s stream, line *timeline) bool {
	return slices.Contains([]string{"h264", "hevc", "av1", "prores", "dnxhd", "mpeg1video", "mpeg2video"}, s.Codec) &&
		!interlaced(s) && !line.untimed
}

// displaySize returns the size of the picture as it is meant to be seen, with
// square pixels and upright, and by how much it has to be turned for that.
//
// The size is not rounded: the ladder rounds once, to even numbers.
func displaySize(s stream) (width, height float64, rotation int) {
	width, height = float64(s.Width), float64(s.Height)
	// A pixel ten times as wide as high is a mistake, not a format.
	if r := parseRatio(s.SampleAspect); r.Num > 0 && r.Den > 0 && r.Num < 10*r.Den && r.Den < 10*r.Num {
		width = width * float64(r.Num) / float64(r.Den)
	}
	for _, d := range s.SideData {
		if d.Type == "Display Matrix" {
			rotation = upright(d.Rotation)
		}
	}
	if rotation%180 != 0 {
		width, height = height, width
	}
	return width, height, rotation
}

// upright returns by how many degrees clockwise a picture has to be turned.
// ffprobe counts counter-clockwise. A picture that stands askew stays so, as
// ffmpeg leaves it.
func upright(rotation float64) int {
	turns := math.Round(-rotation / 90)
	if math.Abs(-rotation-90*turns) >= 1 {
		return 0
	}
	return (int(turns)%4 + 4) % 4 * 90
}

// parseRatio reads "1/90000" or "16:15". What it cannot read is 0/0.
func parseRatio(s string) video.Ratio {
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
