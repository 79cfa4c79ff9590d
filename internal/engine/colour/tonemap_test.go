package colour

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spool-video/spool/internal/video"
)

var (
	pq  = video.Input{Transfer: "smpte2084", Primaries: "bt2020"}
	hlg = video.Input{Transfer: "arib-std-b67", Primaries: "bt2020"}
)

func TestGreyStaysGreyAndInOrder(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]video.Input{"PQ": pq, "HLG": hlg, "P3": {Primaries: "smpte432"}} {
		f := Transform(in)
		before := -1.0
		for i := range 1001 {
			s := float64(i) / 1000
			out := f(RGB{s, s, s})
			if math.Abs(out[0]-out[1]) > 0.002 || math.Abs(out[2]-out[1]) > 0.002 {
				t.Fatalf("%s: grey %.3f becomes %.4f", name, s, out)
			}
			if out[1] < before-1e-9 {
				t.Fatalf("%s: grey %.3f becomes darker than the one before: %.4f", name, s, out[1])
			}
			before = out[1]
		}
		if before < 0.999 {
			t.Errorf("%s: white becomes %.4f", name, before)
		}
	}
}

// TestEveryColourFitsTheScreen tries any signal.
func TestEveryColourFitsTheScreen(t *testing.T) {
	t.Parallel()
	films := []func(RGB) RGB{Transform(pq), Transform(hlg), Transform(video.Input{Dolby: &defaultDolby}), Transform(video.Input{Primaries: "bt2020"})}
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.Float64Range(0, 1)
		in := RGB{unit.Draw(t, "r"), unit.Draw(t, "g"), unit.Draw(t, "b")}
		for i, f := range films {
			for _, c := range f(in) {
				if math.IsNaN(c) || c < 0 || c > 1 {
					t.Fatalf("video %d: %v becomes %v", i, in, f(in))
				}
			}
		}
	})
}

// toPQ is the inverse of pqToLinear.
func toPQ(light float64) float64 {
	p := math.Pow(max(light, 0)/10_000, pqM1)
	return math.Pow((pqC1+pqC2*p)/(1+pqC3*p), pqM2)
}

func TestHueSurvivesCompression(t *testing.T) {
	t.Parallel()
	// A colour of BT.709 at a tenth of the peak, written in BT.2020.
	want := RGB{0.8, 0.4, 0.2}
	toBT2020 := matrix{{0.627404, 0.329283, 0.043313}, {0.069097, 0.919540, 0.011362}, {0.016391, 0.088013, 0.895595}}
	signal := toBT2020.apply(want).each(func(l float64) float64 { return toPQ(100 * l) })
	got := Transform(pq)(signal).each(func(s float64) float64 { return math.Pow(s, screenGamma) })
	for i := range got {
		if ratio := got[i] / got[0] * want[0] / want[i]; ratio < 0.97 || ratio > 1.03 {
			t.Errorf("%v becomes %v, which is another hue", want, got)
		}
	}
}

func TestParseDolby(t *testing.T) {
	t.Parallel()
	const answer = `{"frames": [{"side_data_list": [{"side_data_type": "Dolby Vision RPU Data"}, {
		"side_data_type": "Dolby Vision Metadata", "bl_bit_depth": 10, "coef_log2_denom": 23,
		"components": [
			{"pivots": "0 512 1023", "pieces": [{"poly_order": 1, "poly_coef": "0 8388608"}, {"poly_order": 1, "poly_coef": "4194304 0"}]},
			{"pivots": "0 1023", "pieces": [{"mmr_order": 1, "mmr_constant": 838861, "mmr_coef": "0 8388608 0 0 0 0 0"}]},
			{"pivots": "0 1023", "pieces": [{"mmr_order": 2, "mmr_constant": 1, "mmr_coef": "1 2 3"}]}],
		"ycc_to_rgb_matrix": "8192/8192 0/8192 1/2 1/1 0 0 1/1 0 0", "ycc_to_rgb_offset": "0/268435456 1/4 1/0",
		"rgb_to_lms_matrix": "1"}]}]}`
	d := ParseDolby([]byte(answer))
	if d.Matrix[2] != 0.5 || d.Offset != defaultDolby.Offset || d.Mix != defaultDolby.Mix {
		t.Errorf("ParseDolby = %+v; want its matrix, and the usual where the file makes no sense", d)
	}
	signal := RGB{0.25, 0.5, 0.75}
	for i, want := range []float64{0.25, 0.6, 0.75} {
		if got := reshape(d.Curves[i], i, signal); math.Abs(got-want) > 0.001 {
			t.Errorf("component %d becomes %.4f; want %.4f", i, got, want)
		}
	}
	if got := reshape(d.Curves[0], 0, RGB{0.9}); got != 0.5 {
		t.Errorf("the second segment of the curve gives %.4f; want 0.5", got)
	}
	for _, word := range []string{"nan", "inf", "1e308/1e-308", "0/0"} { // none of them can be stored
		matrix := strings.Repeat(word+" ", 9)
		if d := ParseDolby([]byte(`{"frames": [{"side_data_list": [{"side_data_type": "Dolby Vision Metadata", "ycc_to_rgb_matrix": "` + matrix + `"}]}]}`)); d.Matrix != defaultDolby.Matrix {
			t.Errorf("ParseDolby of %s = %+v", word, d)
		}
	}
	if d := ParseDolby([]byte("{")); d.Matrix != defaultDolby.Matrix {
		t.Errorf("ParseDolby of nonsense = %+v", d)
	}
}
