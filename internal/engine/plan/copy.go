package plan

import (
	"math"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/engine/colour"
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

const (
	// maxKeyDistance is how far the keyframes of a copied picture may be apart: players seek to them, and segments last
	// as long. keySlack allows for times that are rounded.
	maxKeyDistance = 10 * time.Second
	keySlack       = 5 * time.Millisecond
	// peakSeconds is over how many seconds the bitrate of a source is measured: long enough that a single large frame does
	// not count, short enough that a busy scene in a quiet video does.
	peakSeconds = 5
	// copiedCap is how many times the cap of its size the bitrate of a copied picture may be.
	copiedCap = 1.5
	// fewStarts is of how many segments keyframes are also wanted in between: all of them are one argument of ffmpeg,
	// which the kernel limits to 128 KiB.
	fewStarts = 4000
	// longestCopied is how long a copied video may be: a chunk may be all of it, and where its segments begin is one
	// argument of ffmpeg, too.
	longestCopied = 12 * time.Hour
	// maxCopiedLevel is the highest level of H.264 that is copied: 5.2.
	maxCopiedLevel = 52
)

// copyProfiles are the profiles of H.264 that play everywhere, as ffprobe calls them.
var copyProfiles = []string{"Constrained Baseline", "Baseline", "Main", "High"}

// source is what is known of a file when its plan is made.
type source struct {
	found  *probe.Result
	stream probe.Stream
	line   *probe.Timeline
	limit  frameLimit
}

// chooseCopy decides whether the rendition at the source's own size is the source's own picture, and where the keyframes
// are then. What only the picture's bytes tell is found out by the tasks that copy them.
func chooseCopy(p *video.Plan, ask Request, s source) {
	before := ask.Before
	if before != nil && before.Copy != nil && before.CopiedRendition() < 0 && len(before.Copy.Reasons) > 0 {
		p.Copy = before.Copy // the same file: what was found out is still true
	} else if ask.CopySource {
		p.Copy = &video.Copy{Reasons: s.copyReasons(p, ask)}
	}
	own := p.OwnSize()
	copies := p.Copy != nil && len(p.Copy.Reasons) == 0 && own >= 0
	if before != nil && !before.SourceKeys() {
		return // the renditions that are there have their keyframes elsewhere
	}
	if copies {
		p.Renditions[own].Making = video.Copied
	}
	if copies || before != nil {
		p.LongestSegment = s.longestSegment(p)
	}
}

// copyReasons returns why the picture of a source cannot be copied.
func (s source) copyReasons(p *video.Plan, ask Request) []video.CopyReason {
	in, c := p.Input, &video.Copy{}
	add := func(is bool, why video.CopyReason) {
		if is {
			c = c.With(why)
		}
	}
	add(ask.Watermark, video.CopyWatermark)
	add(in.Codec != "h264", video.CopyCodec)
	add(in.Codec == "h264" && (!slices.Contains(copyProfiles, s.stream.Profile) || s.stream.Level > maxCopiedLevel), video.CopyProfile)
	add(in.PixelFormat != "yuv420p" || in.FullRange, video.CopyPixelFormat)
	add(colour.Transform(in) != nil || colour.NeedsMatrix(in) && !colour.IsRGB(in.PixelFormat), video.CopyHDR)
	add(slices.Contains([]string{"tt", "bb", "tb", "bt"}, s.stream.FieldOrder), video.CopyInterlaced)
	ratio := probe.ParseRatio(s.stream.SampleAspect)
	add(ratio.Num > 0 && ratio.Num != ratio.Den, video.CopyAspect)
	add(slices.ContainsFunc(s.stream.SideData, func(d probe.SideData) bool { return d.Type == "Display Matrix" }), video.CopyRotated)
	add(p.LimitRate > 0 || slices.ContainsFunc(p.Renditions, func(r video.Rendition) bool { return r.Profile.MaxFPS > 0 }), video.CopyFrameRate)
	add(p.ProfileSetsBits(), video.CopyBitrate)
	if ask.Trim != nil {
		return c.With(video.CopyTrim).Reasons // only the frames of the part are known: what is missing at its ends is no damage
	}
	add(s.edited(), video.CopyEditList)
	add(slices.ContainsFunc(s.line.Keys, func(k probe.Keyframe) bool { return k.Open || !k.Border && !s.edited() }), video.CopyOpenGOP)
	add(s.keyDistance(p) > maxKeyDistance+keySlack || p.Duration > longestCopied, video.CopyKeyframes)
	add(s.tooManyBits(p), video.CopyBitrate)
	add(s.damaged(p), video.CopyDamaged)
	return c.Reasons
}

// edited reports whether an edit list does more than to shift the beginning.
func (s source) edited() bool {
	removed := s.stream.Frames > 0 && s.line.Packets < s.stream.Frames && !s.found.CutOff && !s.found.EndsEarly()
	return s.line.Discarded > 0 || s.found.EditStarts || removed || s.stream.Frames > 0 && s.line.Packets > s.stream.Frames
}

// keyDistance returns how far keyframes, or the last of them and the end of the video, are apart at most.
func (s source) keyDistance(p *video.Plan) time.Duration {
	if len(s.line.Keys) == 0 {
		return p.Duration
	}
	tb, longest := p.Input.TimeBase, 0.0
	before := s.line.First
	for _, k := range s.line.Keys {
		longest = max(longest, tb.Seconds(k.PTS-before))
		before = k.PTS
	}
	longest = max(longest, p.Duration.Seconds()-tb.Seconds(before-s.line.First))
	return time.Duration(min(longest, latest) * float64(time.Second))
}

// tooManyBits reports whether the source takes more bits over some seconds than lines of its size's viewers can carry.
func (s source) tooManyBits(p *video.Plan) bool {
	size := video.Rendition{Width: p.Input.CodedWidth, Height: p.Input.CodedHeight}
	return peakBitrate(s.line, p.Input.TimeBase) > copiedCap*1000*float64(MaxBitrate(size, p.Input.FrameRate))
}

// peakBitrate returns the highest bitrate over groups of pictures that together last peakSeconds or more. A shorter rest
// at the end counts as part of the last of them.
func peakBitrate(l *probe.Timeline, tb video.Ratio) (most float64) {
	var bytes int64
	from, end := l.First, l.Last+max(l.LastDuration, 1)
	for i, k := range l.Keys {
		to := end
		if i+1 < len(l.Keys) {
			to = l.Keys[i+1].PTS
		}
		bytes += k.Bytes
		seconds, left := tb.Seconds(to-from), tb.Seconds(end-to)
		if seconds <= 0 || to < end && (seconds < peakSeconds || left < peakSeconds) {
			continue
		}
		most = max(most, float64(bytes)*8/seconds)
		bytes, from = 0, to
	}
	return most
}

// damaged reports whether packets alone tell that a source does not decode cleanly.
func (s source) damaged(p *video.Plan) bool {
	l := s.line
	_, cut := truncatedAfter(s.found, s.stream)
	atStart := s.edited() || len(l.Keys) > 0 && l.Keys[0].PTS == l.First && len(l.LeadIn) == 0
	return cut || !atStart || l.Untimed || l.Tangled || l.Doubled > 0 || len(p.Jumps) > 0 || p.Input.RawClock || len(l.Shown) != l.Packets-l.Discarded
}

// ticks converts a time of the source to ticks of the outputs.
func ticks(p *video.Plan, pts int64) int64 {
	return int64(math.Round(p.Input.TimeBase.Seconds(pts-p.FirstPTS) * float64(p.Timescale)))
}

// keyframes returns the keyframes of the source that all renditions have: where segments begin, and the first one of
// every two seconds. More would cost bits.
func (s source) keyframes(p *video.Plan) []int64 {
	var keys, times []int64
	for _, k := range s.line.Keys {
		keys, times = append(keys, k.PTS), append(times, ticks(p, k.PTS))
	}
	starts := mp4.SegmentStarts(times, int64(p.Timescale))
	var all []int64
	last := int64(-1) // which two seconds the last one is in
	if len(starts) > fewStarts {
		last = math.MaxInt64
	}
	every := int64(keyEvery/time.Second) * int64(p.Timescale)
	for i, at := range times {
		_, begins := slices.BinarySearch(starts, at)
		if slot := at / every; begins || slot > last {
			all, last = append(all, keys[i]), max(slot, last)
		}
	}
	return all
}

// longestSegment returns how long the longest segment will be.
func (s source) longestSegment(p *video.Plan) time.Duration {
	var times []int64
	for _, k := range s.keyframes(p) {
		times = append(times, ticks(p, k))
	}
	longest := mp4.LongestSegment(times, int64(p.Duration.Seconds()*float64(p.Timescale)), int64(p.Timescale))
	return time.Duration(float64(longest) / float64(p.Timescale) * float64(time.Second))
}

// setKeys notes on each chunk which of its frames are keyframes of all renditions.
func (s source) setKeys(p *video.Plan) {
	keys := s.keyframes(p)
	for i := range p.Chunks {
		c := &p.Chunks[i]
		from, _ := slices.BinarySearch(keys, c.Start)
		to, _ := slices.BinarySearch(keys, c.End)
		c.Keys = keys[from:to]
		c.GOP = s.steadyGOP(*c)
	}
}

// steadyGOP returns how many frames there are from each keyframe of a chunk to the next one, or 0 if the number differs.
// The last one may have fewer.
func (s source) steadyGOP(c video.Chunk) int {
	at := func(pts int64) int {
		i, _ := slices.BinarySearch(s.line.Shown, pts)
		return i
	}
	end := at(c.End)
	if len(c.Keys) == 1 {
		return end - at(c.Keys[0])
	}
	gop := at(c.Keys[1]) - at(c.Keys[0])
	for i, k := range c.Keys[1:] {
		next := end
		if i+2 < len(c.Keys) {
			next = at(c.Keys[i+2])
		}
		if n := next - at(k); n > gop || n < gop && next != end {
			return 0
		}
	}
	return gop
}
