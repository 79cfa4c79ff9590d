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

// ladder computes the renditions for the requested names, largest first. Names
// that come out at the same size share one encode, and nothing is enlarged
// unless upscale says so.
func ladder(width, height float64, names []video.Name, upscale bool) []video.Rendition {
	var out []video.Rendition
	for _, name := range names {
		w, h := fitSize(width, height, name.ShortSide(), upscale)
		i := slices.IndexFunc(out, func(r video.Rendition) bool { return r.Width == w && r.Height == h })
		if i < 0 {
			i = len(out)
			out = append(out, video.Rendition{Width: w, Height: h})
		}
		if !slices.Contains(out[i].Names, name) {
			out[i].Names = append(out[i].Names, name)
		}
	}
	slices.SortStableFunc(out, func(a, b video.Rendition) int {
		return cmp.Compare(b.Width*b.Height, a.Width*a.Height)
	})
	return out
}

// fitSize scales a frame such that its shorter side becomes short, as far as the
// limits of decoders allow, and keeps its aspect ratio.
func fitSize(width, height float64, short int, upscale bool) (int, int) {
	scale := float64(short) / min(width, height)
	if !upscale {
		scale = min(scale, 1)
	}
	scale = min(scale, maxSide/max(width, height), math.Sqrt(maxArea/width/height))
	return roundEven(width * scale), roundEven(height * scale)
}

// roundEven rounds to an even number. Just below the next even number, an odd
// source loses a pixel rather than gaining one.
func roundEven(x float64) int {
	return min(max(2*int(math.Floor(x/2+0.499)), minSide), maxSide)
}
