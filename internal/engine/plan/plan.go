package plan

import (
	"math"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/engine/colour"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

// maxDuration is the longest video that is accepted.
const maxDuration = 12 * time.Hour

// Make decides what becomes of a file. It is a pure function of what was found
// in the file and what was asked for.
func Make(found *probe.Result, ask Request, cut Chunking, sizes SizeLimits) (*video.Plan, error) {
	s, err := found.Video()
	if err != nil {
		return nil, err
	}
	tb := probe.ParseRatio(s.TimeBase)
	if tb.Num <= 0 || tb.Den <= 0 {
		return nil, ffmpeg.Undecodable()
	}
	line := found.Timelines[s.Index]
	tracks := found.Audio(s)
	p := &video.Plan{Timescale: timescale(tb)}
	var shifts []time.Duration
	p.Jumps, shifts = joinClocks(found, s, firstOf(tracks))
	line.Shift(realJumps(line.Jumps(), tb, ffmpeg.ClockLeaps(found.Format.Name)), p.Jumps)
	line.Sort()

	p.Input = describe(found.Format, s, line, tb)
	p.Input.Dolby, p.Input.X264, p.Input.RawClock, p.Input.EditStarts = found.Dolby, found.X264, found.RawClock, found.EditStarts
	p.Input.Still = found.Still
	p.Streams = found.AllStreams()
	p.FirstPTS, p.Frames = line.First, len(line.Shown)
	p.Deinterlace = interlaced(s)
	p.ToneMap = colour.IsHDR(p.Input)
	if kept := colour.Range(p.Input); ask.KeepHDR && kept != video.SDR {
		p.Kept, p.Input.Mastering, p.Input.Light = kept, found.Mastering, found.Light
	}
	p.Duration = videoDuration(s, line, tb)
	addSounds(found, p, tracks, shifts)
	if err := trim(p, found, s, line, tracks, ask.Trim); err != nil {
		return nil, err
	}
	if p.Duration > maxDuration {
		return nil, tooLong(p.Duration.Seconds())
	}
	if len(p.Jumps) == 0 { // chapters after a jump would begin at the wrong times
		p.Chapters = chapters(found.Chapters, tb.Seconds(p.FirstPTS), p.Duration)
	}
	limit := newFrameLimit(line, tb, maxRate)
	p.LimitRate = limit.limit
	width, height, _ := displaySize(s)
	p.Renditions = sizes.ladder(width, height, ask.Names, ask.Upscale)
	applyProfile(p, ask.Profile, line)
	file := source{found, s, line, limit}
	chooseCopy(p, ask, file)
	head := headOf(p, cut, s, line, limit)
	if found.Still != "" {
		cut = cut.forStill()
	}
	keys := borders(line)
	if p.LongestSegment > 0 {
		keys = file.keyframes(p)
	}
	p.Chunks = cut.forPixels(pixelRate(p)).chunks(line, tb, keys, found.SeeksExactly(), head, limit)
	if p.LongestSegment > 0 {
		file.setKeys(p)
	}
	if head != likeTheRest && len(p.Chunks) > 1 {
		p.Early = divide(p, line, limit)
	}
	if onePacketPerFrame(s, line) {
		countFrames(p.Chunks, line, limit)
		countKept(p, limit.kept(line))
	}
	setBytes(p.Chunks, line)
	p.Thumbnails = thumbnails(ask.Thumbnails, line, tb, found.SeeksExactly())
	p.Poster = poster(p, width, height, line, found.SeeksExactly())
	p.Pictures = true
	p.Samples = samples(p, line, found.SeeksExactly())
	p.Warnings = append(p.Warnings, warnings(found, p, s)...)
	if found.Still != "" {
		showStill(p)
	}
	return p, nil
}

func tooLong(seconds float64) *video.Failure {
	return video.Failf(video.TooLong, "The video is %.1f hours long; at most %.0f hours can be processed.", seconds/3600, maxDuration.Hours())
}

// describe collects what the encodes need to know about the source.
func describe(f probe.Format, s probe.Stream, line *probe.Timeline, tb video.Ratio) video.Input {
	w, h, rotation := displaySize(s)
	in := video.Input{
		Container: f.Name, VideoStream: s.Index, Codec: s.Codec, PixelFormat: s.PixelFormat,
		Width: int(math.Round(w)), Height: int(math.Round(h)), CodedWidth: s.Width, CodedHeight: s.Height, Rotation: rotation,
		TimeBase: tb, FrameRate: frameRate(s, line, tb),
		Matrix: s.ColorSpace, Transfer: s.ColorTransfer, Primaries: s.ColorPrimary,
		FullRange: s.ColorRange == "pc" || strings.HasPrefix(s.PixelFormat, "yuvj"),
		Bitrate:   s.Bitrate,
	}
	if seconds := line.Span(tb); in.Bitrate == 0 && seconds > 0 {
		in.Bitrate = int64(float64(line.Bytes) * 8 / seconds)
	}
	return in
}

// frameRate measures the average rate; what files declare can be wrong by orders
// of magnitude (an FLV of 30 frames a second that declares 1000).
func frameRate(s probe.Stream, line *probe.Timeline, tb video.Ratio) float64 {
	if seconds := line.Span(tb); seconds > 0 {
		return math.Round(float64(len(line.Shown)-1)/seconds*1000) / 1000
	}
	if r := probe.ParseRatio(s.AverageRate); r.Den > 0 {
		return float64(r.Num) / float64(r.Den)
	}
	return 0
}

// videoDuration is the time from the first frame to the end of the last one.
func videoDuration(s probe.Stream, line *probe.Timeline, tb video.Ratio) time.Duration {
	last := tb.Seconds(line.LastDuration)
	if last <= 0 {
		last = 1.0 / 25
		if rate := frameRate(s, line, tb); rate > 1 {
			last = 1 / rate
		}
	}
	// Absurd times must not overflow what is compared with the limit, and others divide by it.
	seconds := min(max(line.Span(tb)+last, 0.001), 1000*maxDuration.Seconds())
	return time.Duration(math.Round(seconds * float64(time.Second)))
}

// timescale chooses the ticks a second of the outputs such that every time of
// the source is a whole number of ticks. Too coarse a scale is refined by a
// whole factor; time bases too fine for 32-bit players fall back to the 90 kHz
// of broadcasting.
func timescale(tb video.Ratio) int {
	const coarsest, finest, fallback = 1000, 1_000_000, 90_000
	switch {
	case tb.Den > finest:
		return fallback
	case tb.Den < coarsest:
		return tb.Den * ((coarsest + tb.Den - 1) / tb.Den)
	}
	return tb.Den
}

// thumbnails finds the frame that is on the screen at each requested time.
func thumbnails(seconds []float64, line *probe.Timeline, tb video.Ratio, reliable bool) []video.Thumbnail {
	back := backUnless(reliable)
	var out []video.Thumbnail
	for _, s := range seconds {
		pts := line.Last
		if ticks := tb.Ticks(s); ticks < float64(line.Last-line.First) {
			pts = line.ShownAt(line.First + int64(math.Floor(ticks+1e-6)))
		}
		t := video.Thumbnail{Seconds: s, PTS: pts, Seek: video.NoSeek}
		if !line.Untimed {
			t.Seek = line.SeekTo(pts, back)
		}
		out = append(out, t)
	}
	return out
}

// backUnless returns how many keyframes earlier than needed decoding begins: seeking may land behind the keyframe aimed
// at unless it is reliable.
func backUnless(reliable bool) int {
	if reliable {
		return 0
	}
	return 1
}
