package plan

import (
	"cmp"
	"math"
	"slices"

	"github.com/spool-video/spool/internal/video"
)

// The sizes of outputs. H.264 allows more in theory (139264 blocks of 16 × 16
// pixels, and sides of 16880), but real decoders end at 8K.
const (
	minSide = 2
	maxSide = 8192
	maxArea = 8192 * 4320
)

// SizeLimits are the operator's limits for the sizes of renditions.
type SizeLimits struct {
	MaxResolution video.Name // no rendition is larger
	MaxUpscale    float64    // how many times its own size a source is enlarged; 1 forbids it
}

// DefaultSizes are the limits of a server whose operator sets none.
var DefaultSizes = SizeLimits{MaxResolution: "8k", MaxUpscale: 2}

// ladder computes the renditions for the requested names, largest first. Names
// that come out at the same size share one encode, and nothing is enlarged
// unless upscale says so.
func (l SizeLimits) ladder(width, height float64, names []video.Name, upscale bool) []video.Rendition {
	var out []video.Rendition
	for _, name := range names {
		r := l.fit(width, height, name, upscale)
		i := slices.IndexFunc(out, func(o video.Rendition) bool { return o.Width == r.Width && o.Height == r.Height })
		if i < 0 {
			i = len(out)
			out = append(out, r)
		}
		if !slices.Contains(out[i].Names, name) {
			out[i].Names = append(out[i].Names, name)
		}
		out[i].MaxResolution = cmp.Or(out[i].MaxResolution, r.MaxResolution)
		out[i].MaxUpscale = cmp.Or(out[i].MaxUpscale, r.MaxUpscale)
	}
	slices.SortStableFunc(out, func(a, b video.Rendition) int {
		return cmp.Compare(b.Width*b.Height, a.Width*a.Height)
	})
	return out
}

// fit scales a frame such that its shorter side gets the length that name asks for,
// as far as the limits allow, and keeps its aspect ratio. The rendition notes which of the
// operator's limits made it smaller.
func (l SizeLimits) fit(width, height float64, name video.Name, upscale bool) video.Rendition {
	var r video.Rendition
	short := min(width, height)
	scale := min(float64(name.ShortSide())/short, maxSide/max(width, height), math.Sqrt(maxArea/width/height))
	if !upscale {
		scale = min(scale, 1)
	}
	largest := float64(l.MaxResolution.ShortSide()) / short
	switch {
	case largest < min(scale, l.MaxUpscale):
		scale, r.MaxResolution = largest, l.MaxResolution
	case l.MaxUpscale < scale:
		scale, r.MaxUpscale = l.MaxUpscale, l.MaxUpscale
	}
	r.Width, r.Height = roundEven(width*scale), roundEven(height*scale)
	return r
}

// roundEven rounds to an even number. Just below the next even number, an odd
// source loses a pixel rather than gaining one.
func roundEven(x float64) int {
	return min(max(2*int(math.Floor(x/2+0.499)), minSide), maxSide)
}
