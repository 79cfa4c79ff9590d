package plan

import (
	"math"
	"slices"

	"github.com/spool-video/spool/internal/engine/probe"
)

// interlaced reports whether the source may hold interlaced frames: the stream
// says so, or says nothing and its codec is often interlaced. The deinterlacer
// asks each frame.
func interlaced(s probe.Stream) bool {
	if s.Width < 4 || s.Height < 4 {
		return false // the deinterlacer needs a few lines
	}
	switch s.FieldOrder {
	case "tt", "bb", "tb", "bt":
		return true
	case "", "unknown":
		return slices.Contains([]string{"dvvideo", "mpeg4", "mpeg2video", "vc1", "mjpeg", "prores"}, s.Codec)
	}
	return false
}

// onePacketPerFrame reports whether each packet of a stream makes one frame. In
// other codecs there are frames that are never shown, packets that say "no
// change", or halves of interlaced frames.
func onePacketPerFrame(s probe.Stream, line *probe.Timeline) bool {
	return slices.Contains([]string{"h264", "hevc", "av1", "prores", "dnxhd", "mpeg1video", "mpeg2video"}, s.Codec) &&
		!interlaced(s) && !line.Untimed
}

// displaySize returns the size of the video as it is meant to be seen, with
// square pixels and upright, and the rotation that this takes.
//
// The size is not rounded: the ladder rounds once, to even numbers.
func displaySize(s probe.Stream) (width, height float64, rotation int) {
	width, height = float64(s.Width), float64(s.Height)
	// A pixel ten times as wide as high is a mistake, not a format.
	if r := probe.ParseRatio(s.SampleAspect); r.Num > 0 && r.Den > 0 && r.Num < 10*r.Den && r.Den < 10*r.Num {
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

// upright returns by how many degrees clockwise a frame has to be turned.
// ffprobe counts counter-clockwise. Of a rotation that is not a multiple of 90 the
// size knows nothing: ffmpeg turns such a picture inside of its frame, which keeps
// its size and cuts off the corners.
func upright(rotation float64) int {
	turns := math.Round(-rotation / 90)
	if math.Abs(-rotation-90*turns) >= 1 {
		return 0
	}
	return (int(turns)%4 + 4) % 4 * 90
}
