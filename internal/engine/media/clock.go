package media

import (
	"fmt"
	"math"
	"strings"

	"github.com/spool-video/spool/internal/video"
)

// clock reads the times of a stream's packets in the order of the file, and
// notes where they do not go on.
type clock struct {
	dts     int64 // of the packet before
	next    int64 // the time of a packet that carries none at all
	guesses bool  // because a packet did not say when it is shown
	jumps   []jump

	// Since the clock jumped last.
	end            int64
	decoded, shown int64 // when decoding and showing begin
}

// jump is a place where the clock may start anew. Joined recordings and
// interrupted broadcasts have such places.
type jump struct {
	frame int   // how many frames precede it
	end   int64 // when what precedes it ends, by the clock before
	start int64 // when what follows begins, by the clock after
}

const (
	// maxJumps is how many are remembered: a clock that has more is no clock.
	maxJumps = 500
	// leap is a step forward, in ticks, that may be a jump: ten seconds of
	// MPEG's clock. Other containers never leap, they pause.
	leap = 10 * 90_000
	// A clock that falls back by less trembles, which the filters smooth out.
	fallBack = 0.5
	leapOver = 10.0
)

// leaps reports whether the clock of a container leaps where a broadcast was
// interrupted. In other containers a long step is a picture that stays long.
func leaps(container string) bool { return container == "mpegts" || container == "mpeg" }

func newClock() clock {
	return clock{dts: unknown, end: math.MinInt64, decoded: unknown}
}

// read returns when a packet is shown, and whether that is a guess: the order of
// decoding when that is known, else the length of the packets before it. frames
// counts the pictures before.
func (c *clock) read(p packet, frames int) (pts int64, guessed bool) {
	pts, dts := p.PTS, p.DTS
	c.guesses = c.guesses || pts == unknown
	switch {
	case !c.guesses:
	case dts != unknown && c.decoded != unknown:
		// Pictures are shown at the pace at which they are decoded, if in
		// another order: the times are right, if not for the very packet.
		pts = dts + c.shown - c.decoded
	case dts != unknown:
		pts = dts
	case pts == unknown:
		pts = c.next
	}
	if dts != unknown && c.dts != unknown && (dts < c.dts || dts-c.dts > leap) && len(c.jumps) < maxJumps {
		c.jumps = append(c.jumps, jump{frame: frames, end: c.end, start: pts})
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

// real returns the jumps that are large enough to matter.
func (c *clock) real(tb video.Ratio, leaps bool) []jump {
	var out []jump
	for _, j := range c.jumps {
		step := tb.Seconds(j.start) - tb.Seconds(j.end)
		if step < -fallBack || leaps && step > leapOver {
			out = append(out, j)
		}
	}
	return out
}

// joined returns, for each jump, the seconds by which what follows it has to be
// moved to begin when all that precedes it has ended. Sound jumps together with
// the pictures, or its jumps do not count.
func joined(pictures []jump, tb video.Ratio, sound []jump, soundBase video.Ratio) []float64 {
	var out []float64
	shift := 0.0
	for i, j := range pictures {
		end, start := tb.Seconds(j.end), tb.Seconds(j.start)
		if len(sound) == len(pictures) {
			end = max(end, soundBase.Seconds(sound[i].end))
			start = min(start, soundBase.Seconds(sound[i].start))
		}
		shift += end - start
		out = append(out, shift)
	}
	return out
}

// continuous is the expression for setpts and asetpts that moves what follows
// each jump of the clock. It counts the jumps as they pass; shifts are texts in
// units of the filter's time base.
func continuous(shifts []string, leaps bool) string {
	var e strings.Builder
	// Frames are shown a little before they have ended, so that a jump is not
	// quite as deep here as in the file.
	fmt.Fprintf(&e, "PTS+0*st(0,ld(0)+lt(T,PREV_INT-%g)", fallBack-0.1)
	if leaps {
		fmt.Fprintf(&e, "+gt(T,PREV_INT+%g)", leapOver)
	}
	e.WriteString(")")
	before := "0"
	for i, s := range shifts {
		fmt.Fprintf(&e, "+(%s-(%s))*gte(ld(0),%d)", s, before, i+1)
		before = s
	}
	return e.String()
}
