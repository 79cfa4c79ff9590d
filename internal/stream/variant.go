package stream

import (
	"cmp"
	"math"
	"slices"

	"github.com/spool-video/spool/internal/mp4"
)

// Film is one rendition of a video.
type Film struct {
	Name  string // of its resolution
	Index *mp4.Index
}

// variant is a film with what a player wants to know before it chooses.
type variant struct {
	Film
	measures // of its pictures
}

// variantsOf returns the films that differ, the one that needs the least first.
// Films of one size are one encode under several names, and count once. The sound
// is that of the first film: all have the same.
func variantsOf(films []Film) (all []variant, sound *mp4.Segments) {
	seen := map[[2]int]bool{}
	for _, f := range films {
		p := f.Index.Pictures
		size := [2]int{p.Width, p.Height}
		if !seen[size] {
			all = append(all, variant{f, measure(p)})
		}
		seen[size] = true
	}
	slices.SortStableFunc(all, func(a, b variant) int { return cmp.Compare(a.peak, b.peak) })
	return all, films[0].Index.Sound
}

// measures of a track, as it is sent.
type measures struct {
	peak, average int64   // bits a second
	rate          float64 // frames a second, of the segment that has the most
	length        float64 // seconds
}

func measure(s *mp4.Segments) measures {
	var m measures
	var size int64
	list := s.List()
	for _, g := range list {
		seconds := float64(g.End-g.Start) / float64(s.Timescale)
		m.peak = max(m.peak, int64(math.Ceil(float64(g.Size)*8/seconds)))
		m.rate = max(m.rate, float64(g.Frames)/seconds)
		size += g.Size
	}
	m.length = float64(list[len(list)-1].End) / float64(s.Timescale)
	m.average = int64(math.Ceil(float64(size) * 8 / m.length))
	return m
}
