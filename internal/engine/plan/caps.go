package plan

import "github.com/spool-video/spool/internal/video"

// bitrateCaps limits the bitrate of each size. Quality is constant (CRF); the
// cap only applies to video that is hard to compress, so that a player on an
// ordinary line can keep up. The figures are for 16:9 and up to 30 frames a
// second, in kbit/s; they follow the upper end of what streaming services
// recommend for H.264. A size between two rows gets a proportional cap, so that
// a new resolution name needs no row.
var bitrateCaps = []struct{ shortSide, kbps int }{
	{144, 300}, {240, 700}, {360, 1400}, {480, 2500}, {720, 5500},
	{1080, 10_000}, {1440, 18_000}, {2160, 40_000}, {4320, 120_000},
}

const (
	// MinBitrate is the lowest cap, in kbit/s; below it, not even the headers of tiny frames fit well.
	MinBitrate = 64
	// FastRate is the frame rate above which the cap is half as high again:
	// frames that are closer in time differ less, so twice would be too much.
	FastRate = 33
)

// MaxBitrate returns the highest bitrate of a rendition in kbit/s. Between the
// sizes of the table, and for other aspect ratios, it is proportional to the
// number of pixels.
func MaxBitrate(r video.Rendition, rate float64) int {
	row := bitrateCaps[len(bitrateCaps)-1]
	for _, c := range bitrateCaps {
		if min(r.Width, r.Height) <= c.shortSide {
			row = c
			break
		}
	}
	pixels := float64(row.shortSide) * float64(row.shortSide) * 16 / 9
	kbps := float64(row.kbps) * float64(r.Width*r.Height) / pixels
	if rate > FastRate {
		kbps *= 1.5
	}
	return max(int(kbps), MinBitrate)
}
