package colour

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/video"
)

// defaultDolby is Dolby Vision as the standard defines it, for files that do not
// say how their frames were reshaped.
var defaultDolby = video.Dolby{
	Matrix: [9]float64{1, 799. / 8192, 1681. / 8192, 1, -933. / 8192, 1091. / 8192, 1, 267. / 8192, -5545. / 8192},
	Offset: [3]float64{0, 0.5, 0.5},
	Mix:    [9]float64{17081. / 16384, -349. / 16384, -349. / 16384, -349. / 16384, 17081. / 16384, -349. / 16384, -349. / 16384, -349. / 16384, 17081. / 16384},
}

// frameMetadata is what ffprobe prints of the Dolby Vision metadata of a frame.
type frameMetadata struct {
	Type       string `json:"side_data_type"`
	Bits       int    `json:"bl_bit_depth"`
	Scale      int    `json:"coef_log2_denom"`
	Matrix     string `json:"ycc_to_rgb_matrix"`
	Offset     string `json:"ycc_to_rgb_offset"`
	Mix        string `json:"rgb_to_lms_matrix"`
	Components []struct {
		Pivots string `json:"pivots"`
		Pieces []struct {
			Polynomial string  `json:"poly_coef"`
			Order      int     `json:"mmr_order"`
			Constant   float64 `json:"mmr_constant"`
			Mixed      string  `json:"mmr_coef"`
		} `json:"pieces"`
	} `json:"components"`
}

// ParseDolby reads ffprobe's JSON of the first frame. Values that are missing or
// malformed keep their defaults.
func ParseDolby(answer []byte) *video.Dolby {
	d := defaultDolby
	var frames struct {
		Frames []struct {
			SideData []json.RawMessage `json:"side_data_list"`
		} `json:"frames"`
	}
	if json.Unmarshal(answer, &frames) != nil || len(frames.Frames) == 0 {
		return &d
	}
	for _, raw := range frames.Frames[0].SideData {
		var r frameMetadata
		if json.Unmarshal(raw, &r) == nil && r.Type == "Dolby Vision Metadata" {
			r.apply(&d)
		}
	}
	return &d
}

func (r *frameMetadata) apply(d *video.Dolby) {
	for into, text := range map[*[9]float64]string{&d.Matrix: r.Matrix, &d.Mix: r.Mix} {
		if v := fractions(text, 1); len(v) == len(into) {
			copy(into[:], v)
		}
	}
	if v := fractions(r.Offset, 1); len(v) == len(d.Offset) {
		copy(d.Offset[:], v)
	}
	if len(r.Components) != len(d.Curves) || r.Bits < 8 || r.Bits > 16 || r.Scale < 0 || r.Scale > 32 {
		return
	}
	for i, c := range r.Components {
		curve := video.Curve{Pivots: fractions(c.Pivots, float64(int(1)<<r.Bits-1))}
		for _, p := range c.Pieces {
			piece := video.Reshape{Coefficients: fractions(p.Polynomial, float64(int(1)<<r.Scale)), Order: p.Order}
			if p.Order > 0 {
				mixed := fractions(p.Mixed, float64(int(1)<<r.Scale))
				piece.Coefficients = append([]float64{p.Constant / float64(int(1)<<r.Scale)}, mixed...)
			}
			curve.Pieces = append(curve.Pieces, piece)
		}
		if validCurve(curve) {
			d.Curves[i] = curve
		}
	}
}

// validCurve reports whether a curve can be evaluated.
func validCurve(c video.Curve) bool {
	return len(c.Pivots) == len(c.Pieces)+1 && slices.IsSorted(c.Pivots) && !slices.ContainsFunc(c.Pieces, func(p video.Reshape) bool {
		return len(p.Coefficients) == 0 || p.Order > 3 || p.Order > 0 && len(p.Coefficients) != 1+7*p.Order
	})
}

// fractions reads "1/2 3 -4/5" and divides each number by scale. A text that it
// cannot read gives nil.
func fractions(text string, scale float64) []float64 {
	var out []float64
	for _, word := range strings.Fields(text) {
		num, den, split := strings.Cut(word, "/")
		n, err := strconv.ParseFloat(num, 64)
		d := 1.0
		if split && err == nil {
			d, err = strconv.ParseFloat(den, 64)
		}
		x := n / d / scale
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) { // which no plan could be stored with
			return nil
		}
		out = append(out, x)
	}
	return out
}
