package encode

// level is a row of table A-1 of the H.264 standard: what a decoder of that
// level has to be able to do. A file that declares a higher level than it needs
// is refused by small devices; one that declares a lower level stutters on them.
type level struct {
	name   string
	perSec int // macroblocks a second
	frame  int // macroblocks of a frame
	kept   int // macroblocks of all reference frames
	kbps   int // bitrate of the High profile: 1.25 times the value of the table
	buffer int // kbit of the coded picture buffer, likewise
}

// levels lists them from the lowest. 1b is left out: few decoders know it, and
// 1.1 does as well.
var levels = []level{
	{"1", 1485, 99, 396, 80, 218},
	{"1.1", 3000, 396, 900, 240, 625},
	{"1.2", 6000, 396, 2376, 480, 1250},
	{"1.3", 11_880, 396, 2376, 960, 2500},
	{"2", 11_880, 396, 2376, 2500, 2500},
	{"2.1", 19_800, 792, 4752, 5000, 5000},
	{"2.2", 20_250, 1620, 8100, 5000, 5000},
	{"3", 40_500, 1620, 8100, 12_500, 12_500},
	{"3.1", 108_000, 3600, 18_000, 17_500, 17_500},
	{"3.2", 216_000, 5120, 20_480, 25_000, 25_000},
	{"4", 245_760, 8192, 32_768, 25_000, 31_250},
	{"4.1", 245_760, 8192, 32_768, 62_500, 78_125},
	{"4.2", 522_240, 8704, 34_816, 62_500, 78_125},
	{"5", 589_824, 22_080, 110_400, 168_750, 168_750},
	{"5.1", 983_040, 36_864, 184_320, 300_000, 300_000},
	{"5.2", 2_073_600, 36_864, 184_320, 300_000, 300_000},
	{"6", 4_177_920, 139_264, 696_320, 300_000, 300_000},
	{"6.1", 8_355_840, 139_264, 696_320, 600_000, 600_000},
	{"6.2", 16_711_680, 139_264, 696_320, 1_000_000, 1_000_000},
}

const (
	// leastKept is how many frames x264 keeps however few it refers to: its
	// B-frame pyramid takes four.
	leastKept = 4
	mostKept  = 16 // the standard's limit for any level
)

// levelOf returns the lowest level whose decoders can play a video of this size,
// frame rate, bitrate and buffer (kbit/s and kbit), and false if every level is too low.
func levelOf(width, height int, rate float64, kbps, buffer int) (level, bool) {
	for _, l := range levels {
		if l.fitsFrame(width, height) && float64(macroblocks(width, height))*rate <= float64(l.perSec) &&
			kbps <= l.kbps && buffer <= l.buffer {
			return l, true
		}
	}
	return level{}, false
}

// fitsFrame reports whether frames of this size are within the level. No side may be
// longer than the square root of eight times the largest frame.
func (l level) fitsFrame(width, height int) bool {
	mbs, side := macroblocks(width, height), blocks(max(width, height))
	return mbs <= l.frame && side*side <= 8*l.frame && l.references(width, height) >= leastKept
}

// references returns how many frames of this size the level lets a decoder keep.
func (l level) references(width, height int) int {
	return min(l.kept/macroblocks(width, height), mostKept)
}

// macroblocks returns how many blocks of 16 × 16 pixels cover a frame.
func macroblocks(width, height int) int { return blocks(width) * blocks(height) }

func blocks(pixels int) int { return (pixels + 15) / 16 }

// hevcLevel is a row of tables A.8 and A.9 of the HEVC standard, for the Main tier.
type hevcLevel struct {
	name   string
	frame  int // luma samples of a frame
	perSec int // luma samples a second
	kbps   int
	buffer int // kbit
}

var hevcLevels = []hevcLevel{
	{"1", 36_864, 552_960, 128, 350},
	{"2", 122_880, 3_686_400, 1500, 1500},
	{"2.1", 245_760, 7_372_800, 3000, 3000},
	{"3", 552_960, 16_588_800, 6000, 6000},
	{"3.1", 983_040, 33_177_600, 10_000, 10_000},
	{"4", 2_228_224, 66_846_720, 12_000, 12_000},
	{"4.1", 2_228_224, 133_693_440, 20_000, 20_000},
	{"5", 8_912_896, 267_386_880, 25_000, 25_000},
	{"5.1", 8_912_896, 534_773_760, 40_000, 40_000},
	{"5.2", 8_912_896, 1_069_547_520, 60_000, 60_000},
	{"6", 35_651_584, 1_069_547_520, 60_000, 60_000},
	{"6.1", 35_651_584, 2_139_095_040, 120_000, 120_000},
	{"6.2", 35_651_584, 4_278_190_080, 240_000, 240_000},
}

// hevcLevelOf is levelOf for HEVC. Its decoders buffer less, so the buffer follows from the level.
func hevcLevelOf(width, height int, rate float64, kbps int) (hevcLevel, bool) {
	samples, side := width*height, max(width, height)
	for _, l := range hevcLevels {
		if samples <= l.frame && side*side <= 8*l.frame && float64(samples)*rate <= float64(l.perSec) && kbps <= l.kbps {
			return l, true
		}
	}
	return hevcLevel{}, false
}
