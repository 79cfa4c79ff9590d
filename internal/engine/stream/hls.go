package stream

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/spool-video/spool/internal/engine/mp4"
)

// hlsVersion is the first version in which segments may be MP4 everywhere.
const hlsVersion = 7

// MasterPlaylist lists the renditions of a video, of which there is at least
// one. The audio is a rendition of its own: a player that switches between
// renditions keeps the audio it has.
func MasterPlaylist(renditions []Rendition) []byte {
	variants, audio := variantsOf(renditions)
	var audioStats trackStats
	var audioCodecs []string
	if audio != nil {
		audioStats, audioCodecs = statsOf(audio), audio.Codecs
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "#EXTM3U\n#EXT-X-VERSION:%d\n#EXT-X-INDEPENDENT-SEGMENTS\n", hlsVersion)
	group := ""
	if audio != nil {
		fmt.Fprintf(&b, "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=%q,NAME=%q,DEFAULT=YES,AUTOSELECT=YES,CHANNELS=\"%d\",URI=%q\n",
			AudioTrack, "Sound", audio.Channels, playlistFile(AudioTrack))
		group = fmt.Sprintf(",AUDIO=%q", AudioTrack)
	}
	for _, v := range variants {
		p := v.Index.Video
		fmt.Fprintf(&b, "#EXT-X-STREAM-INF:BANDWIDTH=%d,AVERAGE-BANDWIDTH=%d,CODECS=%q,RESOLUTION=%dx%d,FRAME-RATE=%.3f%s\n%s\n",
			v.peak+audioStats.peak, v.average+audioStats.average, strings.Join(slices.Concat(p.Codecs, audioCodecs), ","), p.Width, p.Height, v.rate, group, playlistFile(v.Name))
	}
	return b.Bytes()
}

// MediaPlaylist lists the segments of a track.
func MediaPlaylist(track string, s *mp4.Segments) []byte {
	var b, body bytes.Buffer
	var longest int64
	for i, g := range s.List() {
		// Both ends are rounded, not the length, so that errors never add up.
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

// micros returns a time in microseconds. Times in an index are far from
// overflowing it.
func micros(ticks, scale int64) int64 {
	return ticks/scale*1e6 + (ticks%scale*1e6+scale/2)/scale
}
