package media

import "github.com/spool-video/spool/internal/video"

// caps limits the bit rate of each size. Quality is constant (CRF); the cap only
// bites on pictures that are hard to compress, so that a player on an ordinary
// line can keep up with them. The figures are for 16:9 and up to 30 frames a
// second, in kbit/s; they follow the upper end of what streaming services
// recommend for H.264.
var caps = []struct{ shortSide, kbps int }{
	{144, 300}, {240, 700}, {360, 1400}, {480, 2500}, {720, 5500},
	{1080, 10_000}, {1440, 18_000}, {2160, 40_000}, {4320, 120_000},
}

const (
	lowestCap = 64 // kbit/s; below it, not even the headers of tiny pictures fit well
	// fastRate is the frame rate above which a size gets half as much again:
	// frames that are closer in time differ less, so twice would be too much.
	fastRate = 33
)

// capOf returns the highest bit rate of a rendition in kbit/s. Between the
// sizes of the table, and for other shapes, it goes by the number of pixels.
func capOf(r video.Rendition, rate float64) int {
	row := caps[len(caps)-1]
	for _, c := range caps {
		if min(r.Width, r.Height) <= c.shortSide {
			row = c
			break
		}
	}
	pixels := float64(row.shortSide) * float64(row.shortSide) * 16 / 9
	kbps := float64(row.kbps) * float64(r.Width*r.Height) / pixels
	if rate > fastRate {
		kbps *= 1.5
	}
	return max(int(kbps), lowestCap)
}
