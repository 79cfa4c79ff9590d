package stream

import (
	"math"
	"strconv"
)

// Rate is a number of frames a second, as a fraction.
type Rate struct{ Num, Den int64 }

// plainRates are the rates that videos are made with.
var plainRates = []Rate{
	{24000, 1001}, {24, 1}, {25, 1}, {30000, 1001}, {30, 1}, {48, 1}, {50, 1}, {60000, 1001}, {60, 1},
	{10, 1}, {12, 1}, {12500, 1000}, {15000, 1001}, {15, 1}, {20, 1},
}

// rateSlack is how far, relatively, a measured rate may be from a plain one: times are
// rounded to ticks, which are milliseconds in some files. 30 and 30000/1001 are
// twenty times as far from each other.
const rateSlack = 0.0005

// newRate returns the plain rate that was measured, or the measured one where the time
// between frames varies.
func newRate(measured float64) Rate {
	best, distance := Rate{}, rateSlack
	for _, r := range plainRates {
		if d := math.Abs(measured/r.float() - 1); d < distance {
			best, distance = r, d
		}
	}
	if best.Num == 0 {
		best = Rate{max(1, int64(math.Round(measured*1000))), 1000}
	}
	g := gcd(best.Num, best.Den)
	return Rate{best.Num / g, best.Den / g}
}

func (r Rate) float() float64 { return float64(r.Num) / float64(r.Den) }

// String returns the rate as DASH wants it: "30" or "30000/1001".
func (r Rate) String() string {
	if r.Den == 1 {
		return strconv.FormatInt(r.Num, 10)
	}
	return strconv.FormatInt(r.Num, 10) + "/" + strconv.FormatInt(r.Den, 10)
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
