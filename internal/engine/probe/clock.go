package probe

import "math"

// clock reads the times of a stream's packets in the order of the file, and
// notes where they do not go on.
type clock struct {
	dts     int64 // of the packet before
	next    int64 // the time of a packet that carries none at all
	guesses bool  // because a packet did not say when it is shown
	jumps   []Jump

	// Since the clock jumped last.
	end            int64
	decoded, shown int64 // when decoding and showing begin
}

// jump is a place where the clock may start anew. Joined recordings and
// interrupted broadcasts have such places.
type Jump struct {
	Frame int   // how many frames precede it
	End   int64 // when what precedes it ends, by the clock before
	Start int64 // when what follows begins, by the clock after
}

const (
	// maxJumps is how many are remembered: a clock that has more is no clock.
	maxJumps = 500
	// leap is a step forward, in ticks, that may be a jump: ten seconds of
	// MPEG's clock. Other containers never leap, they pause.
	leap = 10 * 90_000
)

func newClock() clock {
	return clock{dts: unknown, end: math.MinInt64, decoded: unknown}
}

// read returns when a packet is shown, and whether that is a guess: the order of
// decoding when that is known, else the length of the packets before it. frames
// counts the pictures before.
func (c *clock) read(p Packet, frames int) (pts int64, guessed bool) {
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
