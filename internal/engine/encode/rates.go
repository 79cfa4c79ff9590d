package encode

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/video"
)

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
	minBitrate = 64 // kbit/s; below it, not even the headers of tiny frames fit well
	// fastRate is the frame rate above which the cap is half as high again:
	// frames that are closer in time differ less, so twice would be too much.
	fastRate = 33
)

// maxBitrate returns the highest bitrate of a rendition in kbit/s. Between the
// sizes of the table, and for other aspect ratios, it is proportional to the
// number of pixels.
func maxBitrate(r video.Rendition, rate float64) int {
	row := bitrateCaps[len(bitrateCaps)-1]
	for _, c := range bitrateCaps {
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
	return max(int(kbps), minBitrate)
}

// capOf returns the highest bitrate of a rendition in kbit/s: what its profile says, or else the table's.
func capOf(r video.Rendition, rate float64) int {
	if r.Profile.MaxBitrate > 0 {
		return r.Profile.MaxBitrate / 1000
	}
	return maxBitrate(r, rate)
}

// bufferSize returns how many kbit a player has to buffer before it starts: a
// keyframe and what follows it may take the bits of two seconds at once.
func bufferSize(kbps int) int { return 2 * kbps }

// effort is the preset and the CRF for frames whose shorter side is at most
// upTo. Options are what the encoder does other than the preset says, as its own
// library names them.
type effort struct {
	upTo    int
	preset  string
	crf     float64
	options string
}

// rateFactor is the CRF as encoders read it.
func (e effort) rateFactor() string { return strconv.FormatFloat(e.crf, 'f', -1, 64) }

// efforts says what each quality means for H.264, smallest frames first.
// The smaller a frame, the cheaper a slower preset; and small ones are made for
// slow lines, where every bit counts. The CRF are such that outputs of one size
// look alike whatever the quality: what differs is the encoding time and the
// size of the file.
var efforts = map[video.Quality][]effort{
	video.Fast:     {{360, "faster", 25, evenly}, {480, "veryfast", 23.5, evenly}, {largest, "veryfast", 23.5, brief + evenly}},
	video.Balanced: {{360, "medium", 26, evenly}, {480, "veryfast", 24.5, "trellis=1:" + evenly}, {largest, "veryfast", 24.5, "trellis=1:" + brief + evenly}},
	video.Small:    {{480, "slow", 26, evenly}, {1080, "slow", 27, evenly}, {largest, "medium", 27, evenly}},
}

// extraEfforts are the efforts for codecs beside H.264. They are made behind everything that somebody waits for, so they
// may take several times as long; they look at least as good as H.264.
var extraEfforts = map[video.Codec]map[video.Quality]effort{
	video.HEVC: {video.Fast: {preset: "veryfast", crf: 27}, video.Balanced: {preset: "fast", crf: 27}, video.Small: {preset: "medium", crf: 27}},
	video.AV1:  {video.Fast: {preset: "10", crf: 40}, video.Balanced: {preset: "8", crf: 40}, video.Small: {preset: "6", crf: 40}},
}

const (
	largest = math.MaxInt

	// evenly lets x264 judge how detailed a block is by the other blocks of its frame, and
	// shift fewer bits from detailed to flat ones than it does by itself. It costs nothing
	// and saves a sixth; of noise, it keeps less.
	evenly = "aq-mode=2:aq-strength=0.5"
	// brief looks for motion in fewer places, and more coarsely between pixels. x264 takes about a
	// quarter less time with it, and a twelfth more bytes for the same picture: time counts for large frames.
	brief = "me=dia:subme=1:"
)

// at is the effort for a frame rate. Fast videos have fewer bits for each frame and run into their caps: there, a
// brief search costs picture instead of bytes.
func (e effort) at(fps float64) effort {
	if fps > fastRate {
		e.options = strings.Replace(e.options, brief, "", 1)
	}
	return e
}

func effortOf(codec video.Codec, q video.Quality, r video.Rendition) effort {
	q = cmp.Or(q, video.Balanced)
	if codec != video.H264 {
		return extraEfforts[codec][q]
	}
	for _, e := range efforts[q] {
		if min(r.Width, r.Height) <= e.upTo {
			return withCRF(e, r.Profile.CRF)
		}
	}
	return effort{}
}

// withPreset returns an effort with the preset that a profile names, which is about H.264. It is taken as it is, without what
// makes the presets of the table faster or better.
func withPreset(e effort, codec video.Codec, preset string) effort {
	if preset != "" && codec == video.H264 {
		e.preset, e.options = preset, evenly
	}
	return e
}

// withCRF returns an effort with the CRF that was chosen for a film, if one was.
func withCRF(e effort, crf float64) effort {
	if crf > 0 {
		e.crf = crf
	}
	return e
}

// density says how much quality a bit of a codec gives, with H.264 as one. A
// source in a codec that is not listed says nothing about the bits it needs: it
// may be an editing format, or a lossless screen recording.
var density = map[string]float64{
	"h264": 1, "hevc": 1.6, "vp9": 1.6, "av1": 2,
	"vp8": 1, "mpeg4": 1, "mpeg2video": 1, "mpeg1video": 1, "h263": 1, "flv1": 1, "wmv2": 1, "wmv3": 1, "vc1": 1, "theora": 1,
}

// outputDensity is the density of what we make. HEVC and AV1 are made so fast that they need three
// quarters of the bits of our H.264: with half of them they would look worse.
var outputDensity = map[video.Codec]float64{video.H264: 1, video.HEVC: 1.3, video.AV1: 1.3}

const (
	// reencodeFactor is how much more it takes to preserve video that is
	// compressed for the second time: the artefacts of the first time have to be
	// preserved, too, and the first time was often made with a slower preset than
	// ours. With less, a film of few bits loses far more than others.
	reencodeFactor = 2
	// pixelExponent is how the bits needed grow with the number of pixels: four
	// times as many need less than four times as much.
	pixelExponent = 0.6
	// minShare of the cap of its size is left to every video. A still screen
	// needs next to nothing in a source with one keyframe a minute; our outputs
	// have one every two seconds.
	minShare = 0.1
)

// sourceCap returns how much a rendition may take so that it is not larger than
// a source of its size would be: bits cannot restore what the source does not
// have. It returns false if the source does not tell. to is the density of the output.
func sourceCap(in video.Input, bitrate int64, r video.Rendition, to float64) (kbps float64, known bool) {
	from := density[in.Codec]
	pixels := float64(in.CodedWidth) * float64(in.CodedHeight)
	if from == 0 || bitrate <= 0 || pixels <= 0 {
		return 0, false
	}
	share := math.Pow(float64(r.Width)*float64(r.Height)/pixels, pixelExponent)
	return float64(bitrate) / 1000 * reencodeFactor * from / to * share, true
}

// settingsFor decides how rendition r of chunk n is encoded.
func settingsFor(p *video.Plan, r video.Rendition, n, threads int) settings {
	codec, fps := p.OutputCodec(), p.Input.FrameRate
	if p.LimitRate > 0 {
		fps = min(fps, float64(p.LimitRate))
	}
	if most := r.Profile.MaxFPS; most > 0 {
		fps = min(fps, float64(most))
	}
	dense := outputDensity[codec]
	highest := float64(capOf(r, fps)) / dense
	kbps := highest
	if most, known := sourceCap(p.Input, p.Chunks[n].Bitrate, r, dense); known {
		kbps = min(kbps, max(most, minShare*min(highest, float64(maxBitrate(r, fps))/dense)))
	}
	o := settings{
		width: r.Width, height: r.Height, fps: fps, threads: threads,
		effort: withPreset(withCRF(effortOf(codec, p.Quality, r), r.CRF[codec]), codec, p.Preset).at(fps),
		kbps:   max(int(kbps), minBitrate), highest: max(int(highest), minBitrate),
	}
	o.buffer = bufferSize(o.kbps)
	o.hdr, o.mastering, o.light = p.OutputRange() != video.SDR, p.Input.Mastering, p.Input.Light
	return o
}
