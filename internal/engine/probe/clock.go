package probe

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
)

// clock reads the times of a stream's packets in file order, and notes where
// they are discontinuous.
type clock struct {
	dts     int64 // of the previous packet
	next    int64 // the time of a packet that has none
	guesses bool  // since a packet had no presentation time
	jumps   []Jump

	// Since the last jump.
	end            int64
	decoded, shown int64 // when decoding and presentation begin
}

// Jump is a place where the clock may have been reset. Joined recordings and
// interrupted broadcasts have such places.
type Jump struct {
	Frame int   // how many frames precede it
	End   int64 // when what precedes it ends, by the clock before
	Start int64 // when what follows begins, by the clock after
}

const (
	// maxJumps is how many are noted: times with more of them are random.
	maxJumps = 500
	// leap is a step forward, in ticks, that may be a jump: ten seconds of
	// MPEG's clock. Other containers never leap, they pause.
	leap = 10 * 90_000
)

func newClock() clock {
	return clock{dts: unknown, end: math.MinInt64, decoded: unknown}
}

// read returns when a packet is shown, and whether that is a guess: from the
// decode order if that is known, else from the durations of the packets before
// it. frames counts the frames before it.
func (c *clock) read(p Packet, frames int) (pts int64, guessed bool) {
	pts, dts := p.PTS, p.DTS
	c.guesses = c.guesses || pts == unknown
	switch {
	case !c.guesses:
	case dts != unknown && c.decoded != unknown:
		// Frames are shown at the rate at which they are decoded, if in
		// another order: the set of times is right, if not for each packet.
		pts = dts + c.shown - c.decoded
	case dts != unknown:
		pts = dts
	case pts == unknown:
		pts = c.next
	}
	if dts != unknown && c.dts != unknown && (dts < c.dts || dts-c.dts > leap) && len(c.jumps) < maxJumps {
		c.jumps = append(c.jumps, Jump{Frame: frames, End: c.end, Start: pts})
		c.end, c.decoded = math.MinInt64, unknown
	}
	c.next = pts + p.Duration
	c.end = max(c.end, c.next)
	if dts != unknown {
		c.dts = dts
		if c.decoded == unknown {
			c.decoded, c.shown = dts, pts
		}
	}
	c.shown = min(c.shown, pts)
	return pts, c.guesses
}

// longestOverflow is how many seconds a clock may leap forward because ffmpeg took a jump back for an overflow.
// MPEG's clock overflows after 26.5 hours. Real overflows leave no leap.
const longestOverflow = 12 * 3600

// misreadOverflow reports whether the clock of a broadcast was reset to a time before its beginning. libavformat takes
// that for an overflow and adds 26.5 hours to all times before the beginning; ffmpeg itself then sees an
// overflow where the clock jumps back up, and from there on its times differ from ffprobe's.
func (f *Result) misreadOverflow() bool {
	if !ffmpeg.ClockLeaps(f.Format.Name) {
		return false
	}
	for _, s := range f.Streams {
		line, tb := f.Timelines[s.Index], ParseRatio(s.TimeBase)
		if line == nil || tb.Den <= 0 {
			continue
		}
		if slices.ContainsFunc(line.Jumps(), func(j Jump) bool { return tb.Seconds(j.Start)-tb.Seconds(j.End) > longestOverflow }) {
			return true
		}
	}
	return false
}

// probeRawClock reads a file once more, with times as they are in the file.
func (p *Prober) probeRawClock(ctx context.Context, job ffmpeg.Job, found *Result, limit time.Duration) (*Result, error) {
	raw, err := p.probeAgain(ctx, job, found, limit, ffmpeg.RawClock)
	if raw != found && raw != nil {
		raw.RawClock = true
	}
	return raw, err
}
