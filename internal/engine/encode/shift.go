package encode

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/video"
)

// trialResult is what a trial found out about the picture of a film at one size.
type trialResult struct {
	ssim   float64 // to the source, from 0 to 1
	motion float64 // by how much a pixel changes from one frame to the next, of 255
	bits   float64 // that a pixel took
}

// What a picture may change, and how it is judged: VMAF follows from the ssim,
// in decibels, and from motion, in which losses are hard to see. It was measured on
// clips of all kinds; see docs/encoding.md.
const (
	perDecibel, perMotion = 1.9, 1.8
	mostMotion            = 5   // more hides no more
	perCRF                = 1.1 // by how much VMAF falls
	// Bits are spent reluctantly: noise looks like a loss, and is expensive.
	lowestShift, highestShift = -3, 6
)

// judgement is how sizes are judged whose shorter side is at most upTo: what is added,
// the VMAF that is aimed at, and how many bits a pixel may take in the trial for a film
// to get more.
type judgement struct {
	upTo         int
	base, target float64
	dear         float64
}

var judgements = []judgement{{480, 47.4, 90, 0.12}, {largest, 47.05, 91, 0.08}}

// shiftsOf decides by how much the CRF of each rendition differs from the usual one.
// A rendition that was not tried has the shift of the next larger one that was, or of
// the largest one.
func shiftsOf(p *video.Plan, found map[int]trialResult) []float64 {
	tried := triedSizes(p)
	shifts := make([]float64, len(p.Renditions))
	for i, r := range p.Renditions {
		from := tried[0]
		for _, n := range tried {
			if r.Height <= p.Renditions[n].Height {
				from = n
			}
		}
		shifts[i] = shiftOf(found[from], p.Renditions[from])
	}
	return shifts
}

// shiftOf decides it for a size that was tried.
func shiftOf(f trialResult, r video.Rendition) float64 {
	n := slices.IndexFunc(judgements, func(j judgement) bool { return min(r.Width, r.Height) <= j.upTo })
	j := judgements[n]
	decibels := -10 * math.Log10(max(1-f.ssim, 1e-5))
	expected := j.base + perDecibel*decibels + perMotion*min(f.motion, mostMotion)
	shift := math.Round(2*(expected-j.target)/perCRF) / 2
	if f.bits > j.dear {
		shift = max(shift, 0)
	}
	return min(max(shift, lowestShift), highestShift)
}

// readTrialResult compares what the runs of a trial wrote about a rendition.
func readTrialResult(job ffmpeg.Job, p *video.Plan, rendition int) (trialResult, error) {
	r := p.Renditions[rendition]
	w, h := smallSize(r)
	before, err := openFrames(shrunkPath(job, "before", rendition), w, h)
	if err != nil {
		return trialResult{}, err
	}
	defer before.Close()
	after, err := openFrames(shrunkPath(job, "after", rendition), w, h)
	if err != nil {
		return trialResult{}, err
	}
	defer after.Close()
	info, err := os.Stat(tryPath(job, rendition))
	if err != nil {
		return trialResult{}, err
	}
	found, frames, err := compareFrames(before, after, w)
	found.bits = float64(8*info.Size()) / (float64(r.Width) * float64(r.Height) * float64(frames))
	return found, err
}

// compareFrames compares all frames of two files of the same width.
func compareFrames(before, after *frameFile, width int) (trialResult, int, error) {
	var changes []float64
	var last []byte
	ssim, weights, frames := 0.0, 0.0, 0
	for {
		a, err := before.next()
		if err != nil {
			return trialResult{}, 0, err
		}
		b, err := after.next()
		if err != nil {
			return trialResult{}, 0, err
		}
		if a == nil || b == nil {
			break
		}
		sum, weight := similarity(a, b, width)
		ssim, weights = ssim+sum, weights+weight
		if frames++; last != nil {
			changes = append(changes, difference(last, a))
		}
		last = slices.Clone(a)
	}
	if frames == 0 {
		return trialResult{}, 0, errors.New("no frame could be decoded")
	}
	if weights < float64(frames) {
		return trialResult{}, 0, errors.New("there is nothing to be seen in the frames")
	}
	return trialResult{ssim: ssim / weights, motion: median(changes)}, frames, nil
}

// frameFile is a file of frames that have one byte for each pixel.
type frameFile struct {
	*os.File
	in    *bufio.Reader
	frame []byte
}

func openFrames(path string, width, height int) (*frameFile, error) {
	f, _, err := openOutput(path, "frames", maxShrunk)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return nil, errors.New("no frame could be decoded")
	}
	return &frameFile{File: f, in: bufio.NewReader(f), frame: make([]byte, width*height)}, nil
}

// next returns the next frame, which is valid until the one after it; nil at the end.
func (f *frameFile) next() ([]byte, error) {
	switch _, err := io.ReadFull(f.in, f.frame); err {
	case nil:
		return f.frame, nil
	case io.EOF:
		return nil, nil
	default:
		return nil, fmt.Errorf("read a frame: %w", err)
	}
}

// maxShrunk is how much the frames of a trial may take when they are compared.
const maxShrunk = 64 * 1920 * 1080

// difference returns by how much pixels of two frames differ on average.
func difference(a, b []byte) float64 {
	sum := 0
	for i, x := range a {
		sum += max(int(x)-int(b[i]), int(b[i])-int(x))
	}
	return float64(sum) / float64(len(a))
}

// similarity adds up the structural similarity of the blocks of two frames, from 0 to
// 1, and their weights. Blocks count by how much is to be seen in them: flat ones are
// nearly always alike.
func similarity(a, b []byte, width int) (sum, weights float64) {
	const side, n, c1, c2 = 8, 64, 6.5025, 58.5225
	for y := 0; (y+side)*width <= len(a); y += side {
		for x := 0; x+side <= width; x += side {
			var sa, sb, saa, sbb, sab int
			for j := y; j < y+side; j++ {
				at := j*width + x
				ra, rb := a[at:at+side], b[at:at+side]
				for i := range side {
					p, q := int(ra[i]), int(rb[i])
					sa, sb, saa, sbb, sab = sa+p, sb+q, saa+p*p, sbb+q*q, sab+p*q
				}
			}
			ma, mb := float64(sa)/n, float64(sb)/n
			va, vb, cov := float64(saa)/n-ma*ma, float64(sbb)/n-mb*mb, float64(sab)/n-ma*mb
			weight := math.Log1p(va / flatVariance)
			sum += weight * (2*ma*mb + c1) * (2*cov + c2) / ((ma*ma + mb*mb + c1) * (va + vb + c2))
			weights += weight
		}
	}
	return sum, weights
}

// flatVariance is the variance below which a block looks flat.
const flatVariance = 300

// median returns the middle value, so that a few extreme frames do not count: cuts, and
// the places where one trial follows the other.
func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(all))[len(all)/2]
}
