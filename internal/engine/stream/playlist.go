package stream

import (
	"bytes"
	"fmt"
	"math"
	"time"
)

// hlsVersion is the first version in which segments may be MP4 everywhere.
const hlsVersion = 7

// minTarget is the least EXT-X-TARGETDURATION, in seconds. Segments last about
// four seconds, and less than six where keyframes are two seconds apart, the last
// one included. So the value is known before the first segment is, and it is the
// same for all tracks. Segments are longer where a frame is shown for longer, and
// in variants of videos with a varying frame rate; see withoutLong.
const minTarget = 6

// Entry is a segment in a media playlist.
type Entry struct {
	Name   string
	Micros int64 // how long it lasts, in microseconds
}

// MediaPlaylist is what a media playlist tells. Its text depends on nothing else, so
// the playlist of a video that is still being encoded is written alike.
type MediaPlaylist struct {
	Target     int    // seconds; see TargetDuration
	Prefix     string // of the names of all files
	Init       string // the init segment; "" for text
	Entries    []Entry
	FramesOnly bool // each segment holds one frame
	Growth     Growth
}

// Growth says whether segments are, or were, added to a playlist.
type Growth int

const (
	// Fixed is a playlist that was complete when it was first there.
	Fixed Growth = iota
	// Grown is one that is complete, and may have grown before.
	Grown
	// Growing is one to which segments will be added.
	Growing
)

// mayGrow is how long a video is whose playlists may have grown, with a margin: videos of a minute and more
// can be watched while they are encoded.
const mayGrow = 45 * time.Second

// GrowthOf returns the growth of the playlists of a video that lasts so long. Of a complete one, only its
// length is known. Players that began with a playlist as it grew must never see it change but at its end
// (RFC 8216, section 4.3.3.5), so what can have been an EVENT stays one.
func GrowthOf(length time.Duration, growing bool) Growth {
	switch {
	case growing:
		return Growing
	case length >= mayGrow:
		return Grown
	}
	return Fixed
}

// TargetDuration returns the EXT-X-TARGETDURATION of all playlists of a video, which
// must be the same: as long as the longest of the segments, in whole seconds, but no
// less than what segments commonly last.
func TargetDuration(micros ...int64) int {
	target := minTarget
	for _, m := range micros {
		target = max(target, int(math.Ceil(float64(m)/1e6)))
	}
	return target
}

// Encode returns the text of the playlist.
func (p MediaPlaylist) Encode() []byte {
	kind := "VOD"
	if p.Growth != Fixed {
		kind = "EVENT"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "#EXTM3U\n#EXT-X-VERSION:%d\n#EXT-X-TARGETDURATION:%d\n#EXT-X-PLAYLIST-TYPE:%s\n", hlsVersion, p.Target, kind)
	if p.Growth != Fixed { // players would begin near the end of what is there
		b.WriteString("#EXT-X-START:TIME-OFFSET=0,PRECISE=YES\n")
	}
	if p.FramesOnly {
		b.WriteString("#EXT-X-I-FRAMES-ONLY\n")
	} else if p.Init != "" {
		b.WriteString("#EXT-X-INDEPENDENT-SEGMENTS\n")
	}
	if p.Init != "" {
		fmt.Fprintf(&b, "#EXT-X-MAP:URI=%q\n", p.Prefix+p.Init)
	}
	for _, e := range p.Entries {
		fmt.Fprintf(&b, "#EXTINF:%d.%06d,\n%s%s\n", e.Micros/1e6, e.Micros%1e6, p.Prefix, e.Name)
	}
	if p.Growth != Growing {
		b.WriteString("#EXT-X-ENDLIST\n")
	}
	return b.Bytes()
}
