package encode

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// capOf returns the highest bitrate of a rendition in kbit/s: what its profile says, or else the table's.
func capOf(r video.Rendition, rate float64) int {
	if r.Profile.MaxBitrate > 0 {
		return r.Profile.MaxBitrate / 1000
	}
	return plan.MaxBitrate(r, rate)
}

// highestBitrate returns the cap of a rendition's size in a codec, in kbit/s. HEVC and AV1 need three quarters of
// the bits of our H.264.
func highestBitrate(codec video.Codec, r video.Rendition, fps float64) int {
	kbps := float64(capOf(r, fps))
	if codec != video.H264 {
		kbps /= 1.3
	}
	return max(int(kbps), plan.MinBitrate)
}

// bufferSeconds is how many seconds of its bits a player has to buffer before it starts: a keyframe and what follows
// it may take the bits of two seconds at once.
const bufferSeconds = 2

func bufferSize(kbps int) int { return bufferSeconds * kbps }

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
	if fps > plan.FastRate {
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

// SetRates writes into a new plan with which CRF and how many bits each rendition is encoded: in H.264, and in what is
// made beside it later. All chunks of a rendition must look alike, whichever version of the program encodes them.
// Hardware has no CRF.
func (enc *Encoder) SetRates(p *video.Plan) {
	for i := range p.Renditions {
		r := &p.Renditions[i]
		r.MaxBitrate = map[video.Codec]int64{}
		for _, c := range []video.Codec{video.H264, video.HEVC} {
			if most, known := sourceLimit(p, *r, c); known {
				r.MaxBitrate[c] = most
			}
		}
		if enc.encoder.accelerator != Software {
			continue
		}
		r.CRF = map[video.Codec]float64{}
		for _, c := range append([]video.Codec{video.H264}, video.ExtraCodecs...) {
			r.CRF[c] = effortOf(c, p.Quality, *r).crf
		}
	}
}

// withCRF returns an effort with the CRF of a plan, if it has one: older plans have none.
func withCRF(e effort, crf float64) effort {
	if crf > 0 {
		e.crf = crf
	}
	return e
}

// settingsFor decides how rendition r of chunk n is encoded.
func settingsFor(p *video.Plan, r video.Rendition, n, threads int) settings {
	codec, fps := p.OutputCodec(), outputRate(p, r)
	o := settings{
		width: r.Width, height: r.Height, fps: fps, threads: threads,
		effort:  withPreset(withCRF(effortOf(codec, p.Quality, r), r.CRF[codec]), codec, p.Preset).at(fps),
		highest: highestBitrate(codec, r, fps),
	}
	o.kbps, o.buffer = chunkRate(p, r, n, o.highest)
	o.gop = gopOf(p, n, fps)
	o.hdr, o.mastering, o.light = p.OutputRange() != video.SDR, p.Input.Mastering, p.Input.Light
	return o
}

// outputRate is the frame rate of a rendition.
func outputRate(p *video.Plan, r video.Rendition) float64 {
	fps := p.Input.FrameRate
	if p.LimitRate > 0 {
		fps = min(fps, float64(p.LimitRate))
	}
	if most := r.Profile.MaxFPS; most > 0 {
		fps = min(fps, float64(most))
	}
	return fps
}

// gopOf returns how many frames there are from a keyframe of chunk n to the next one. Where the keyframes of a source are
// not evenly apart, it is two seconds as usual: segments then begin at other times than in other codecs, between which
// players do not change, and none lasts too long to be listed beside them.
func gopOf(p *video.Plan, n int, fps float64) int {
	if gop := p.Chunks[n].GOP; gop > 0 {
		return gop
	}
	return max(1, int(math.Round(2*fps)))
}
