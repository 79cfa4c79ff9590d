package encode

import (
	"fmt"
	"math"
)

// x265Light tells x265 what is known of the light of HDR. It counts in 50,000ths, and in 10,000ths of a cd/m².
func (o settings) x265Light() (params []string) {
	if m := o.mastering; m != nil {
		pair := func(c [2]float64) string {
			return fmt.Sprintf("(%.0f,%.0f)", math.Round(c[0]*50_000), math.Round(c[1]*50_000))
		}
		params = append(params, fmt.Sprintf("master-display=G%sB%sR%sWP%sL(%.0f,%.0f)",
			pair(m.Green), pair(m.Blue), pair(m.Red), pair(m.White), math.Round(m.Max*10_000), math.Round(m.Min*10_000)))
	}
	if l := o.light; l != nil {
		params = append(params, fmt.Sprintf("max-cll=%d,%d", l.Max, l.Average))
	}
	return params
}

// svtLight tells SVT-AV1, which takes decimal numbers.
func (o settings) svtLight() (params []string) {
	if m := o.mastering; m != nil {
		pair := func(c [2]float64) string { return fmt.Sprintf("(%.8f,%.8f)", c[0], c[1]) }
		params = append(params, fmt.Sprintf("mastering-display=G%sB%sR%sWP%sL(%.6f,%.6f)", pair(m.Green), pair(m.Blue), pair(m.Red), pair(m.White), m.Max, m.Min))
	}
	if l := o.light; l != nil {
		params = append(params, fmt.Sprintf("content-light=%d,%d", l.Max, l.Average))
	}
	return params
}
