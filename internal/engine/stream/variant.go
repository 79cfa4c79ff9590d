package stream

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/spool-video/spool/internal/engine/mp4"
)

// Rendition is one rendition file of a video.
type Rendition struct {
	Name  string // of its resolution
	Index *mp4.Index
}

// variant is a rendition with what a player needs to choose.
type variant struct {
	Rendition
	trackStats // of its video track
}

// variantsOf returns the renditions that differ, the one with the lowest bitrate
// first. Renditions of the same size and codec are one encode under several
// names, or nearly so, and count once. All have the same audio, except those for
// which it could not be encoded.
func variantsOf(renditions []Rendition) (all []variant, audio *mp4.Segments) {
	type kind struct {
		width, height int
		codec         string
	}
	seen := map[kind]bool{}
	for _, f := range renditions {
		p := f.Index.Video
		k := kind{p.Width, p.Height, codecOf(p)}
		if !seen[k] {
			all = append(all, variant{f, statsOf(p)})
		}
		seen[k] = true
		if audio == nil {
			audio = f.Index.Audio
		}
	}
	slices.SortStableFunc(all, func(a, b variant) int { return cmp.Compare(a.peak, b.peak) })
	return all, audio
}

// codecOf returns the codec of a track without its profile, such as "avc1". It
// differs between renditions if the settings were changed before a resolution
// was added.
func codecOf(s *mp4.Segments) string {
	codec, _, _ := strings.Cut(s.Codecs[0], ".")
	return codec
}

// trackStats are the measurements of a track, as it is sent.
type trackStats struct {
	peak, average int64   // bits a second
	rate          float64 // frames a second, in the segment that has the most
	length        float64 // seconds
}

func statsOf(s *mp4.Segments) trackStats {
	var m trackStats
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
