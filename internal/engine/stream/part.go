package stream

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Part is a part of a video, in whole milliseconds. Its playlists name the segments that show some of it. The zero value
// is all of the video.
type Part struct {
	From, To time.Duration // To is 0 for the end
}

// All reports whether a part is all of a video.
func (p Part) All() bool { return p == Part{} }

// String writes a part as ParsePart reads it: milliseconds, such as "12500-30000" or "12500-".
func (p Part) String() string {
	text := strconv.FormatInt(p.From.Milliseconds(), 10) + "-"
	if p.To > 0 {
		text += strconv.FormatInt(p.To.Milliseconds(), 10)
	}
	return text
}

// ParsePart reads what String wrote.
func ParsePart(text string) (Part, bool) {
	from, to, found := strings.Cut(text, "-")
	start, err := strconv.ParseInt(from, 10, 48)
	end := int64(0)
	if err == nil && to != "" {
		end, err = strconv.ParseInt(to, 10, 48)
	}
	p := Part{time.Duration(start) * time.Millisecond, time.Duration(end) * time.Millisecond}
	return p, found && err == nil && p.String() == text
}

// Query is what an address ends with that asks for a part.
func (p Part) Query() string {
	if p.All() {
		return ""
	}
	seconds := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
	query := "?start=" + seconds(p.From)
	if p.To > 0 {
		query += "&end=" + seconds(p.To)
	}
	return query
}

// Shows reports whether something between two times, in ticks, shows some of the part.
func (p Part) Shows(start, end, scale int64) bool {
	return micros(end, scale) > p.From.Microseconds() && (p.To == 0 || micros(start, scale) < p.To.Microseconds())
}

// Reaches reports whether a track is there up to the end of a part. A track that grows has no end yet.
func (t Track) Reaches(p Part, grows bool) bool {
	last := t.Segments[len(t.Segments)-1]
	return !grows || p.To > 0 && micros(last.End, t.Timescale) >= p.To.Microseconds()
}

// Of returns the segments of a track that show some of a part. There may be none.
func (t Track) Of(p Part) Track {
	of := t
	of.Segments = nil
	for i, g := range t.Segments {
		if p.Shows(g.Start, g.End, t.Timescale) {
			if len(of.Segments) == 0 {
				of.First = i
			}
			of.Segments = append(of.Segments, g)
		}
	}
	return of
}

// Of returns a part of a video. It reports false if the part is not all there yet. Without any segment, there is no video.
func (p Presentation) Of(part Part) (Presentation, bool) {
	if part.All() {
		return p, true
	}
	of := p
	of.Video, of.Audio, of.Live = nil, nil, nil
	whole := true
	for _, t := range p.tracks() {
		whole = whole && t.Reaches(part, p.Live != nil)
	}
	for _, t := range p.Video {
		if t = t.Of(part); len(t.Segments) > 0 {
			of.Video = append(of.Video, t)
		}
	}
	// The segments of sound begin at other times; there is sound from the first frame on.
	from := min(part.From, time.Duration(of.beginMicros())*time.Microsecond)
	for _, s := range p.Audio {
		if s.Track = s.Track.Of(Part{from, part.To}); len(s.Segments) > 0 {
			of.Audio = append(of.Audio, s)
		}
	}
	return of, whole
}

// Track returns the track with a name.
func (p Presentation) Track(name string) (Track, bool) {
	all := p.tracks()
	i := slices.IndexFunc(all, func(t Track) bool { return t.Name == name })
	if i < 0 {
		return Track{}, false
	}
	return all[i], true
}

// begin returns when a track begins: 0 unless it is of a part.
func (t Track) begin() int64 {
	if t.First == 0 {
		return 0
	}
	return t.Segments[0].Start
}

// beginMicros returns when a video begins, in microseconds.
func (p Presentation) beginMicros() int64 {
	if len(p.Video) == 0 {
		return 0
	}
	return micros(p.Video[0].begin(), p.Video[0].Timescale)
}

// Part returns the entries of a playlist of text that lie between the first and the last segment of a part of the video.
func (p MediaPlaylist) Part(of Presentation) MediaPlaylist {
	from, to, at := of.beginMicros(), of.Micros(), int64(0)
	all := p.Entries
	p.Entries = nil
	for _, e := range all {
		start, end := max(at, from), min(at+e.Micros, to)
		if at += e.Micros; start < end {
			p.Entries = append(p.Entries, Entry{e.Name, end - start})
		}
	}
	p.Growth = Fixed
	return p
}
