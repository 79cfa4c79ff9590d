package stream

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// MasterPlaylist lists the renditions of a video. There must be at least
// one. The audio is a rendition of its own: a player that switches between
// renditions keeps the audio it has. It is a variant too, for players that have
// no screen or no bandwidth for pictures.
func MasterPlaylist(p Presentation) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "#EXTM3U\n#EXT-X-VERSION:%d\n#EXT-X-INDEPENDENT-SEGMENTS\n", hlsVersion)
	if p.Chapters {
		fmt.Fprintf(&b, "#EXT-X-SESSION-DATA:DATA-ID=\"com.apple.hls.chapters\",URI=%q\n", ChaptersJSONFile)
	}
	sound, soundCodecs := p.soundStats()
	groups := ""
	if len(p.Audio) > 0 {
		writeSounds(&b, p)
		groups = fmt.Sprintf(",AUDIO=%q", AudioTrack)
	}
	if len(p.Text) > 0 {
		writeTexts(&b, p)
		groups += fmt.Sprintf(",SUBTITLES=%q", textGroup)
	}
	groups += ",CLOSED-CAPTIONS=NONE"
	for _, t := range p.Video {
		m := t.stats()
		fmt.Fprintf(&b, "#EXT-X-STREAM-INF:BANDWIDTH=%d,AVERAGE-BANDWIDTH=%d,%sCODECS=%q,RESOLUTION=%dx%d,FRAME-RATE=%.3f%s\n%s\n",
			m.peak+sound.peak, m.average+sound.average, score(p, t), codecList(t.Codecs, soundCodecs), t.Width, t.Height, m.rate.float(), videoRange(p, t)+groups, p.Prefix+playlistFile(t.Name)+p.Query)
	}
	if first := p.defaultSound(); first != nil {
		fmt.Fprintf(&b, "#EXT-X-STREAM-INF:BANDWIDTH=%d,AVERAGE-BANDWIDTH=%d,%sCODECS=%q%s\n%s\n",
			sound.peak, sound.average, score(p, first.Track), codecList(soundCodecs), groups, p.Prefix+playlistFile(first.Name)+p.Query)
	}
	for _, t := range p.Video {
		fmt.Fprintf(&b, "#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=%d,CODECS=%q,RESOLUTION=%dx%d%s,URI=%q\n",
			t.stats().keyPeak, codecList(t.Codecs), t.Width, t.Height, videoRange(p, t), p.Prefix+playlistFile(t.Name+framesSuffix)+p.Query)
	}
	return b.Bytes()
}

// score ranks a variant, where a video has several codecs: the larger size first, and
// of the same size the one whose codec needs fewer bytes for the same picture.
// If one variant has a score, all should have one, which is positive (RFC 8216bis,
// section 4.4.6.2); the audio alone, which has no size, comes last.
func score(p Presentation, t Track) string {
	if !p.severalCodecs() {
		return ""
	}
	rank := float64(min(t.Width, t.Height))
	if rank > 0 {
		rank += float64(t.preference()) / float64(len(preferences))
	}
	return fmt.Sprintf("SCORE=%.1f,", max(rank, 0.1))
}

func codecList(codecs ...[]string) string { return strings.Join(slices.Concat(codecs...), ",") }

// Playlist returns the media playlist of a track.
func (t Track) Playlist(target int, g Growth) MediaPlaylist {
	return MediaPlaylist{Target: target, Init: initFile(t.Name), Entries: t.entries(), Growth: g}
}

// FramesPlaylist returns the playlist of the first frames of each segment, for players
// that show stills while they seek or wind.
func (t Track) FramesPlaylist(target int, g Growth) MediaPlaylist {
	p := t.Playlist(target, g)
	p.FramesOnly = true
	for i := range p.Entries {
		p.Entries[i].Name = segmentFile(t.Name+framesSuffix, t.First+i)
	}
	return p
}

func (t Track) entries() []Entry {
	all := make([]Entry, len(t.Segments))
	for i, g := range t.Segments {
		// Both ends are rounded, not the length, so that errors never add up.
		all[i] = Entry{segmentFile(t.Name, t.First+i), micros(g.End, t.Timescale) - micros(g.Start, t.Timescale)}
	}
	return all
}

// micros returns a time in microseconds. Times in an index are far from
// overflowing it.
func micros(ticks, scale int64) int64 {
	return ticks/scale*1e6 + (ticks%scale*1e6+scale/2)/scale
}
