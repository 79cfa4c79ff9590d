package encode

import (
	"image"
	"math"
)

// brightness is how bright the pixels of a frame are, from 0 to 255, at half its size: that evens
// out noise, which would pass for detail.
type brightness struct {
	width, height int
	pixels        []float64
}

func newBrightness(p *image.YCbCr) brightness {
	b := p.Bounds()
	l := brightness{width: b.Dx() / 2, height: b.Dy() / 2}
	l.pixels = make([]float64, 0, l.width*l.height)
	for y := range l.height {
		above, below := p.Y[2*y*p.YStride:], p.Y[(2*y+1)*p.YStride:]
		for x := 0; x < 2*l.width; x += 2 {
			sum := int(above[x]) + int(above[x+1]) + int(below[x]) + int(below[x+1])
			l.pixels = append(l.pixels, float64(sum)/4)
		}
	}
	return l
}

// goodFrame is the score of a frame that needs no other to be compared with.
const goodFrame = 0.5

// score says how well a frame would stand for its video, from 0 to 1. A frame that is dark, glaring,
// empty, blurred, or in the middle of a fade has a low score. next is a frame shortly after it.
func (l brightness) score(next brightness) float64 {
	mean, spread := l.moments()
	later, _ := next.moments()
	exposure := ramp(mean, 16, 50) * ramp(mean, 250, 215)
	contrast := ramp(spread, 4, 40)
	sharpness := ramp(l.blur(), 0.7, 0.4)
	steadiness := 0.3 + 0.7*ramp(math.Abs(later-mean), 10, 3)
	return exposure * contrast * sharpness * steadiness
}

// ramp is 0 where x has reached none, 1 where it has reached all, and rises evenly in between.
func ramp(x, none, all float64) float64 { return min(max((x-none)/(all-none), 0), 1) }

// moments returns the mean and the standard deviation.
func (l brightness) moments() (mean, spread float64) {
	var sum, squares float64
	for _, v := range l.pixels {
		sum += v
		squares += v * v
	}
	n := float64(max(len(l.pixels), 1))
	mean = sum / n
	return mean, math.Sqrt(max(squares/n-mean*mean, 0))
}

// blur says how blurred a frame is, from 0 to 1: how little its differences between neighbours
// shrink when it is blurred once more (Crete and others, The Blur Effect, 2007). Unlike a measure of
// detail, it tells a sharp picture with little in it from a blurred one with much.
func (l brightness) blur() float64 {
	return max(l.blurAlong(1, l.width, l.width, l.height), l.blurAlong(l.width, l.height, 1, l.width))
}

// blurAlong measures along lines of pixels: step leads from one to the next of length pixels, and
// across from line to line of count lines.
func (l brightness) blurAlong(step, length, across, count int) float64 {
	const reach = 4 // pixels on each side that are averaged
	var all, lost float64
	sums := make([]float64, length+1)
	for line := range count {
		at := line * across
		for i := range length {
			sums[i+1] = sums[i] + l.pixels[at+i*step]
		}
		average := func(i int) float64 {
			return (sums[i+reach+1] - sums[i-reach]) / (2*reach + 1)
		}
		for i := reach + 1; i < length-reach; i++ {
			d := math.Abs(l.pixels[at+i*step] - l.pixels[at+(i-1)*step])
			all += d
			lost += max(0, d-math.Abs(average(i)-average(i-1)))
		}
	}
	if all == 0 {
		return 1
	}
	return (all - lost) / all
}
