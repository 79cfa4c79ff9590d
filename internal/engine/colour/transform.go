package colour

import "math"

// RGB is a pixel: three signals, or three amounts of light.
type RGB [3]float64

// matrix maps one kind of RGB to another.
type matrix [3]RGB

func (m matrix) apply(v RGB) RGB {
	var out RGB
	for i, row := range m {
		out[i] = row[0]*v[0] + row[1]*v[1] + row[2]*v[2]
	}
	return out
}

// times returns the matrix that applies n first and then m.
func (m matrix) times(n matrix) matrix {
	var out matrix
	for i := range out {
		for j := range out[i] {
			out[i][j] = m[i][0]*n[0][j] + m[i][1]*n[1][j] + m[i][2]*n[2][j]
		}
	}
	return out
}

// Conversions between the primaries of BT.2020, P3 and BT.709, all with a
// white point of D65.
var (
	bt2020ToBT709 = matrix{{1.660491, -0.587641, -0.072850}, {-0.124550, 1.132900, -0.008349}, {-0.018151, -0.100579, 1.118730}}
	p3ToBT2020    = matrix{{0.753833, 0.198597, 0.047570}, {0.045744, 0.941777, 0.012479}, {-0.001210, 0.017602, 0.983609}}
	identity      = matrix{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}
)

// The luminance of the three primaries.
var (
	luminance2020 = RGB{0.2627, 0.6780, 0.0593}
	luminance709  = RGB{0.2126, 0.7152, 0.0722}
)

func (v RGB) dot(w RGB) float64 { return v[0]*w[0] + v[1]*w[1] + v[2]*w[2] }

func (v RGB) each(f func(float64) float64) RGB {
	return RGB{f(v[0]), f(v[1]), f(v[2])}
}

// The constants of SMPTE ST 2084 (PQ).
const (
	pqM1, pqM2       = 2610. / 16384, 2523. / 4096 * 128
	pqC1, pqC2, pqC3 = 3424. / 4096, 2413. / 4096 * 32, 2392. / 4096 * 32
)

// pqToLinear returns the cd/m² that a PQ signal stands for.
func pqToLinear(signal float64) float64 {
	p := math.Pow(max(signal, 0), 1/pqM2)
	return 10_000 * math.Pow(max(p-pqC1, 0)/(pqC2-pqC3*p), 1/pqM1)
}

// hlgPeak is the screen for which HLG is rendered, in cd/m²; 1.2 is its gamma
// (BT.2100).
const (
	hlgPeak  = 1000
	hlgGamma = 1.2
)

// hlgToLinear returns the light that a screen shows for an HLG signal, in
// BT.2020.
func hlgToLinear(signal RGB) RGB {
	scene := signal.each(func(s float64) float64 {
		const a, b, c = 0.17883277, 0.28466892, 0.55991073
		if s = min(max(s, 0), 1); s <= 0.5 {
			return s * s / 3
		}
		return (math.Exp((s-c)/a) + b) / 12
	})
	gain := hlgPeak * math.Pow(max(scene.dot(luminance2020), 1e-9), hlgGamma-1)
	return scene.each(func(s float64) float64 { return gain * s })
}
