package colour

import (
	"math"

	"github.com/spool-video/spool/internal/video"
)

const (
	// hdrPeak is the luminance, in cd/m², that becomes the white of ordinary
	// screens. Masters may be far brighter, but frames hardly ever are, and
	// allowing for it would darken everything else.
	hdrPeak = 1000
	// screenGamma is the gamma of ordinary screens (BT.1886).
	screenGamma = 2.4
)

// Transform returns the function that turns the signals of a source into BT.709
// signals, both from 0 to 1, or nil where a matrix is enough.
func Transform(in video.Input) func(RGB) RGB {
	toBT2020 := identity
	if in.Primaries == "smpte432" || in.Primaries == "smpte431" {
		toBT2020 = p3ToBT2020
	}
	switch {
	case in.Dolby != nil:
		return func(signal RGB) RGB { return toBT709(toneMap(dolbyToLinear(in.Dolby, signal))) }
	case in.Transfer == "smpte2084":
		return func(signal RGB) RGB { return toBT709(toneMap(toBT2020.apply(signal.each(pqToLinear)))) }
	case in.Transfer == "arib-std-b67":
		return func(signal RGB) RGB { return toBT709(toneMap(toBT2020.apply(hlgToLinear(signal)))) }
	case wideGamut(in):
		return func(signal RGB) RGB {
			light := signal.each(func(s float64) float64 { return math.Pow(max(s, 0), screenGamma) })
			return toBT709(toBT2020.apply(light))
		}
	}
	return nil
}

// toneMap reduces linear HDR light in BT.2020 to what an ordinary screen can
// show, where 1 is its white. It changes the luminance of colours and not their
// hue; those that become too bright are desaturated later.
func toneMap(light RGB) RGB {
	y := light.dot(luminance2020)
	if y <= 0 {
		return RGB{}
	}
	gain := filmic(min(y, hdrPeak)) / filmic(hdrPeak) / y
	return light.each(func(l float64) float64 { return gain * l })
}

// filmic is John Hable's curve. It keeps the shadows and leaves range for the
// highlights, because clouds without detail are what viewers notice first. HDR
// reference white (203 cd/m²) comes out at three quarters of the signal, which
// is where HLG puts it for screens without HDR.
func filmic(light float64) float64 {
	const a, b, c, d, e, f = 0.15, 0.50, 0.10, 0.20, 0.02, 0.30
	x := light / 100
	return (x*(a*x+c*b)+d*e)/(x*(a*x+b)+d*f) - e/f
}

// toBT709 turns linear BT.2020 light into the signal of a BT.709 screen.
func toBT709(light RGB) RGB {
	return compressGamut(bt2020ToBT709.apply(light)).each(func(l float64) float64 {
		return math.Pow(min(max(l, 0), 1), 1/screenGamma)
	})
}

// compressGamut desaturates colours outside of BT.709, and, so that differences
// between them do not vanish, slightly those near its border.
func compressGamut(light RGB) RGB {
	const safe, widest = 0.95, 1.3 // fractions of the distance from grey to the border
	grey := min(max(light.dot(luminance709), 0), 1)
	out := 0.0 // where the colour is on that distance
	for _, l := range light {
		switch {
		case l > grey && grey < 1:
			out = max(out, (l-grey)/(1-grey))
		case l < grey && grey > 0:
			out = max(out, (grey-l)/grey)
		case l != grey:
			return RGB{grey, grey, grey}
		}
	}
	if out <= safe {
		return light
	}
	// A curve with a slope of one at safe and of zero at the border.
	x := min((out-safe)/(widest-safe), 1)
	s := (widest - safe) / (1 - safe)
	in := safe + (1-safe)*(1-math.Pow(1-x, s))
	return light.each(func(l float64) float64 { return grey + (l-grey)*in/out })
}

// dolbyLMSToBT2020 turns the cone responses that Dolby Vision stores into
// BT.2020 light.
var dolbyLMSToBT2020 = matrix{
	{3.06441879, -2.16597676, 0.10155818},
	{-0.65612108, 1.78554118, -0.12943749},
	{0.01736321, -0.04725154, 1.03004253},
}

// dolbyToLinear returns the light that a signal of Dolby Vision stands for.
func dolbyToLinear(d *video.Dolby, signal RGB) RGB {
	var shaped RGB
	for i, c := range d.Curves {
		shaped[i] = reshape(c, i, signal) - d.Offset[i]
	}
	toLMS, mix := toMatrix(d.Matrix), toMatrix(d.Mix)
	return dolbyLMSToBT2020.times(mix).apply(toLMS.apply(shaped).each(pqToLinear))
}

func toMatrix(m [9]float64) matrix {
	return matrix{{m[0], m[1], m[2]}, {m[3], m[4], m[5]}, {m[6], m[7], m[8]}}
}

// reshape applies the curve of component i.
func reshape(c video.Curve, i int, signal RGB) float64 {
	if len(c.Pieces) == 0 || len(c.Pivots) != len(c.Pieces)+1 {
		return signal[i]
	}
	x := min(max(signal[i], c.Pivots[0]), c.Pivots[len(c.Pieces)])
	n := 0
	for n+1 < len(c.Pieces) && x >= c.Pivots[n+1] {
		n++
	}
	p := c.Pieces[n]
	if p.Order > 0 {
		return evalMMR(p, signal)
	}
	sum := 0.0
	for k := len(p.Coefficients) - 1; k >= 0; k-- {
		sum = sum*x + p.Coefficients[k]
	}
	return min(max(sum, 0), 1)
}

// evalMMR is a polynomial of the three components and their products
// (multivariate multiple regression); each further order has the same seven
// terms to a higher power.
func evalMMR(p video.Reshape, s RGB) float64 {
	terms := [7]float64{s[0], s[1], s[2], s[0] * s[1], s[0] * s[2], s[1] * s[2], s[0] * s[1] * s[2]}
	power := terms
	sum := p.Coefficients[0]
	for order := range p.Order {
		for k := range terms {
			sum += p.Coefficients[1+7*order+k] * power[k]
			power[k] *= terms[k]
		}
	}
	return min(max(sum, 0), 1)
}
