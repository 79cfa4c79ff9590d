package video

import (
	"fmt"
	"math"
	"slices"
)

// WatermarkID names a picture of a tenant that is laid over videos. It is a UUID in lower case.
type WatermarkID string

// Position is where in a picture a watermark is.
type Position string

// Positions are all positions, row by row.
var Positions = []Position{"top-left", "top", "top-right", "left", "center", "right", "bottom-left", "bottom", "bottom-right"}

// Limits and defaults of a watermark. Lengths are shares of the picture's width.
const (
	defaultPosition   Position = "bottom-right"
	minWatermarkWidth          = 0.02
	defaultMarkWidth           = 0.15
	maxMarkMargin              = 0.5
	defaultMarkMargin          = 0.03
)

// Watermark is a picture that is laid over every frame of a video, and how.
type Watermark struct {
	ID       WatermarkID `json:"id"`
	Position Position    `json:"position"`
	Width    float64     `json:"width"`   // share of the picture's width
	Margin   float64     `json:"margin"`  // to the edges, as a share of the picture's width
	Opacity  float64     `json:"opacity"` // from 0 to 1
	// Aspect is the width of the picture divided by its height.
	Aspect float64 `json:"aspect"`
}

// WatermarkChoice is what a client says about the watermark of a video. What is nil has its default.
type WatermarkChoice struct {
	ID       WatermarkID `json:"id"` // empty: none, where a tenant has a usual one
	Position *Position   `json:"position,omitempty"`
	Width    *float64    `json:"width,omitempty"`
	Margin   *float64    `json:"margin,omitempty"`
	Opacity  *float64    `json:"opacity,omitempty"`
}

// Check returns what is wrong with a choice, in the fields below field.
func (c WatermarkChoice) Check(field string) []Fault {
	var faults []Fault
	if _, err := ParseID(field+".id", string(c.ID)); err != nil {
		faults = append(faults, Fault{field + ".id", "invalid_uuid", "must be the id of a watermark"})
	}
	if c.Position != nil && !slices.Contains(Positions, *c.Position) {
		faults = append(faults, Fault{field + ".position", "not_allowed", fmt.Sprintf("must be one of %v", Positions)})
	}
	for _, share := range []struct {
		name        string
		value       *float64
		least, most float64
	}{{"width", c.Width, minWatermarkWidth, 1}, {"margin", c.Margin, 0, maxMarkMargin}, {"opacity", c.Opacity, 0, 1}} {
		if v := share.value; v != nil && !(*v >= share.least && *v <= share.most) {
			faults = append(faults, Fault{field + "." + share.name, "out_of_range", fmt.Sprintf("must be a number from %g to %g", share.least, share.most)})
		}
	}
	return faults
}

// Watermark returns the watermark that c asks for. aspect is the picture's.
func (c WatermarkChoice) Watermark(aspect float64) *Watermark {
	return &Watermark{
		ID: c.ID, Position: or(c.Position, defaultPosition), Width: or(c.Width, defaultMarkWidth),
		Margin: or(c.Margin, defaultMarkMargin), Opacity: or(c.Opacity, 1), Aspect: aspect,
	}
}

// or returns what p points to, or usual if it is nil.
func or[T any](p *T, usual T) T {
	if p == nil {
		return usual
	}
	return *p
}

// Place returns where the watermark is in a picture of this size. All four are even, as the colours of a
// film need it. A watermark that is too tall for its margins is made smaller.
func (w Watermark) Place(width, height int) (x, y, markWidth, markHeight int) {
	frameWidth, frameHeight := float64(width), float64(height)
	margin := w.Margin * frameWidth
	mw := w.Width * frameWidth
	mh := mw / w.Aspect
	if shrink := min((frameWidth-2*margin)/mw, (frameHeight-2*margin)/mh); shrink < 1 {
		shrink = max(shrink, 0)
		mw, mh = mw*shrink, mh*shrink
	}
	column, row := w.Position.place()
	left := margin + column*(frameWidth-2*margin-mw)
	top := margin + row*(frameHeight-2*margin-mh)
	return even(left, 0, width-2), even(top, 0, height-2), even(mw, 2, width), even(mh, 2, height)
}

// place returns the column and the row of a position: 0, 0.5 or 1.
func (p Position) place() (column, row float64) {
	i := max(slices.Index(Positions, p), 0)
	return float64(i%3) / 2, float64(i/3) / 2
}

// even rounds to an even number from least to most.
func even(x float64, least, most int) int {
	return min(max(2*int(math.Round(x/2)), least), most-most%2)
}
