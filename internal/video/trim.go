package video

import (
	"fmt"
	"math"
)

// Trim is the part of a file that a video is made of, in seconds since the first frame.
type Trim struct {
	Start float64 `json:"start,omitempty"`
	End   float64 `json:"end,omitempty"` // 0: the end of the file
}

// Clip is a part of another video, in seconds since it begins for its viewers.
type Clip struct {
	Video      ID
	Start, End float64
}

// String writes the part for people.
func (t *Trim) String() string {
	if t.End == 0 {
		return fmt.Sprintf("second %s to the end", formatNumber(t.Start))
	}
	return fmt.Sprintf("second %s to %s", formatNumber(t.Start), formatNumber(t.End))
}

// NewTrim returns the part between two times, of which each may be left out; nil: all of the file.
func NewTrim(start, end *float64) *Trim {
	var t Trim
	if start != nil {
		t.Start = *start
	}
	if end != nil {
		t.End = *end
	}
	if t == (Trim{}) {
		return nil
	}
	return &t
}

// CheckPart returns what is wrong with the times of a part; prefix is what the names of the fields begin with.
func CheckPart(prefix string, start, end *float64) []Fault {
	from, to := 0.0, math.Inf(1)
	if start != nil {
		from = *start
	}
	if end != nil {
		to = *end
	}
	switch {
	case !(from >= 0) || math.IsInf(from, 0):
		return []Fault{{prefix + "startSeconds", "out_of_range", "must be a number of seconds, zero or more"}}
	case end != nil && (!(to > from) || math.IsInf(to, 0)):
		return []Fault{{prefix + "endSeconds", "out_of_range", "must be a number of seconds, more than startSeconds"}}
	}
	return nil
}
