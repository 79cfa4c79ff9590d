package stream

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spool-video/spool/internal/mp4"
)

// Film is one rendition of a video.
type Film struct {
	Name  string // of its resolution
	Index *mp4.Index
}

// hlsVersion is the first in which segments may be MP4 wherever HLS is played.
const hlsVersion = 7

// MasterPlaylist lists the renditions of a video, the one that needs the least
// first. Films of one size are one encode under several names, and listed once.
// The sound is that of the first film: all have the same.
func MasterPlaylist(films []Film) []byte {
	variants, sound := variantsOf(films)
	var b bytes.Buffer
	fmt.Fprintf(&b, "#EXTM3U\n#EXT-X-VERSION:%d\n#EXT-X-INDEPENDENT-SEGMENTS\n", hlsVersion)
	group := ""
	if sound != nil {
		fmt.Fprintf(&b, "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=%q,NAME=%q,DEFAULT=YES,AUTOSELECT=YES,URI=%q\n", Sound, "Sound", playlistFile(Sound))
		group = fmt.Sprintf(",AUDIO=%q", Sound)
	}
	for _, v := range variants {
		p := v.Index.Pictures
		fmt.Fprintf(&b, "#EXT-X-STREAM-INF:BANDWIDTH=%d,AVERAGE-BANDWIDTH=%d,CODECS=%q,RESOLUTION=%dx%d,FRAME-RATE=%.3f%s\n%s\n",
			v.peak, v.average, strings.Join(v.codecs, ","), p.Width, p.Height, v.rate, group, playlistFile(v.Name))
	}
	return b.Bytes()
}

// variant is a film with what a player wants to know before it chooses.
type variant struct {
	Film
	peak, average int64 // bits a second, of pictures and sound
	rate          float64
	codecs        []string
}

// variantsOf measures the films that differ, smallest first.
func variantsOf(films []Film) (all []variant, sound *mp4.Segments) {
	seen := map[[2]int]bool{}
	for _, f := range films {
		p := f.Index.Pictures
		if size := [2]int{p.Width, p.Height}; seen[size] {
			continue
		} else {
			seen[size] = true
		}
		if len(all) == 0 {
			sound = f.Index.Sound
		}
		m := measure(p)
		v := variant{Film: f, peak: m.peak, average: m.average, rate: m.rate, codecs: slices.Clone(p.Codecs)}
		if sound != nil {
			m := measure(sound)
			v.peak, v.average, v.codecs = v.peak+m.peak, v.average+m.average, append(v.codecs, sound.Codecs...)
		}
		all = append(all, v)
	}
	slices.SortStableFunc(all, func(a, b variant) int { return cmp.Compare(a.peak, b.peak) })
	return all, sound
}

// measures of a track, as it is sent.
type measures struct {
	peak, average int64   // bits a second
	rate          float64 // frames a second, of the segment that has the most
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
	whole := float64(list[len(list)-1].End) / float64(s.Timescale)
	m.average = int64(math.Ceil(float64(size) * 8 / whole))
	return m
}

// MediaPlaylist lists the segments of a track.
func MediaPlaylist(track string, s *mp4.Segments) []byte {
	var b, body bytes.Buffer
	var longest int64
	for i, g := range s.List() {
		// Both ends are rounded, not the length: so errors never add up.
		length := micros(g.End, s.Timescale) - micros(g.Start, s.Timescale)
		longest = max(longest, length)
		fmt.Fprintf(&body, "#EXTINF:%d.%06d,\n%s\n", length/1e6, length%1e6, segmentFile(track, i))
	}
	fmt.Fprintf(&b, "#EXTM3U\n#EXT-X-VERSION:%d\n#EXT-X-TARGETDURATION:%d\n#EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-MAP:URI=%q\n",
		hlsVersion, (longest+1e6-1)/1e6, initFile(track))
	body.WriteString("#EXT-X-ENDLIST\n")
	_, _ = body.WriteTo(&b)
	return b.Bytes()
}

// micros returns a time in microseconds. Times in an index are far from what
// would not fit.
func micros(ticks, scale int64) int64 {
	return ticks/scale*1e6 + (ticks%scale*1e6+scale/2)/scale
}
