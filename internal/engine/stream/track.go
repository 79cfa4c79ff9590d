package stream

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/engine/mp4"
)

// Track is what playlists tell of a track. TrackOf reads it from the index of a file;
// of a video that is still being encoded it may have fewer segments than it will have.
type Track struct {
	Name          string   // of its resolution, or one of a sound track
	Codecs        []string // in the form of RFC 6381
	Width, Height int      // of the video
	Transfer      int      // of the video: see mp4.Segments
	Channels      int      // of the audio
	Timescale     int64    // ticks a second
	First         int      // the number of the first segment; 0 unless the track is of a part
	Segments      []TrackSegment
}

// TrackSegment is a segment of a track. Its times are in ticks.
type TrackSegment struct {
	Start, End    int64
	Frames        int
	Size, KeySize int64 // bytes of all of it, and of its first frame alone
}

// TrackOf describes a track of a rendition file.
func TrackOf(name string, s *mp4.Segments) Track {
	t := Track{Name: name, Codecs: s.Codecs, Width: s.Width, Height: s.Height, Transfer: s.Transfer, Channels: s.Channels, Timescale: s.Timescale}
	t.Segments = make([]TrackSegment, len(s.List()))
	for i, g := range s.List() {
		t.Segments[i] = TrackSegment{g.Start, g.End, g.Frames, g.Size, g.KeySize}
	}
	return t
}

// Rendition is one rendition file of a video.
type Rendition struct {
	Name  string // of its resolution
	Index *mp4.Index
}

// Presentation is what the playlists of a video tell.
type Presentation struct {
	Prefix string // of the names of all files
	Query  string // that the addresses of playlists end with; see Part

	Video []Track // one for each size and codec, in the order in which players should try them
	Audio []Sound // none for a silent video
	Text  []Text
	Live  *Live // nil unless some of the tracks will grow

	Chapters bool // the video has a file with chapters

	LongestSegment time.Duration // that any track will have, if that is known; 0: not longer than usual
}

// Sound is a sound track.
type Sound struct {
	Track
	Language string // BCP 47; "": not known
	Label    string // for people
	Kind     string // what people hear: main, dub, commentary or description
	Default  bool   // players begin with it
}

// Present describes the renditions of a video, with the sound that they hold.
func Present(renditions []Rendition) Presentation {
	var all []Track
	for _, r := range renditions {
		all = append(all, TrackOf(r.Name, r.Index.Video))
	}
	return NewPresentation(all, OnlySound(renditions))
}

// OnlySound returns the sound that rendition files hold, of a video whose sound tracks have no files of their own. It is
// the same in all of them, except in those for which it could not be encoded.
func OnlySound(renditions []Rendition) []Sound {
	for _, r := range renditions {
		if r.Index.Audio != nil {
			return []Sound{{Track: TrackOf(AudioTrack, r.Index.Audio), Label: "Sound", Default: true}}
		}
	}
	return nil
}

// NewPresentation describes a video of these tracks. There must be at least one video track.
// Tracks of the same size and codec are one encode under several names, or nearly so,
// and count once. Variants with longer segments than all else are left out.
//
// The first track is the one that a player should begin with, because most begin with
// the first; the others follow, those that need the least before. Tracks of H.264 come
// before other codecs, with the same order in each.
func NewPresentation(tracks []Track, audio []Sound) Presentation {
	type kind struct {
		width, height int
		codec         string
	}
	var all []Track
	seen := map[kind]bool{}
	for _, t := range withoutLong(tracks, audio) {
		k := kind{t.Width, t.Height, t.codec()}
		if !seen[k] {
			all = append(all, t)
		}
		seen[k] = true
	}
	slices.SortStableFunc(all, func(a, b Track) int { return cmp.Compare(a.stats().peak, b.stats().peak) })
	p := Presentation{Audio: audio}
	for i, codec := range byPreference(all) {
		group := slices.DeleteFunc(slices.Clone(all), func(t Track) bool { return t.codec() != codec })
		if i > 0 && largest(group) < largest(p.Video) {
			continue // a player that stays with this codec would never show the largest picture
		}
		p.Video = append(p.Video, preferredFirst(group)...)
	}
	return p
}

// largest returns how many pixels the largest of some tracks has.
func largest(tracks []Track) (most int) {
	for _, t := range tracks {
		most = max(most, t.Width*t.Height)
	}
	return most
}

// withoutLong returns the tracks without variants whose segments last longer than what
// the playlists say without any variant. A variant is made last, when caches hold the
// other playlists, and must not change their target duration. Where the frame rate
// varies much, it can: the encoder counts frames, not seconds, to its next keyframe.
func withoutLong(tracks []Track, audio []Sound) []Track {
	before := slices.DeleteFunc(slices.Clone(tracks), Track.isVariant)
	if len(before) == 0 {
		return tracks
	}
	target := Presentation{Video: before, Audio: audio}.Target()
	return slices.DeleteFunc(slices.Clone(tracks), func(t Track) bool {
		return t.isVariant() && Presentation{Video: []Track{t}}.Target() > target
	})
}

// isVariant reports whether a track is one of a resolution in a further codec, which
// its name then begins with.
func (t Track) isVariant() bool { return strings.Contains(t.Name, "-") }

// preferredFirst moves the track that a player should begin with to the front.
func preferredFirst(all []Track) []Track {
	if len(all) == 0 {
		return nil
	}
	first := 0
	for i, t := range all {
		if t.distance() < all[first].distance() {
			first = i
		}
	}
	begin := all[first]
	return slices.Insert(slices.Delete(all, first, first+1), 0, begin)
}

// preferences are the codecs by what a player that can choose should take, the least first: what looks alike with
// fewer bytes is better. The first one is what everything plays. Its tracks come before all others, because some
// players take the first without asking.
var preferences = []string{"avc1", "hvc1", "av01"}

// preference is the place of the codec of a track in the list.
func (t Track) preference() int { return max(slices.Index(preferences, t.codec()), 0) }

// byPreference returns the codecs of tracks, each once.
func byPreference(tracks []Track) []string {
	sorted := slices.SortedStableFunc(slices.Values(tracks), func(a, b Track) int { return cmp.Compare(a.preference(), b.preference()) })
	var codecs []string
	for _, t := range sorted {
		codecs = append(codecs, t.codec())
	}
	return slices.Compact(codecs)
}

// Players begin with a picture of about this size: it is there soon on a slow
// connection, and good enough on a large screen until the player has measured.
const (
	firstFrom = 480
	firstTo   = 720
)

// distance says how far a track is from what a player should begin with.
func (t Track) distance() float64 {
	side := float64(min(t.Width, t.Height))
	return max(1, firstFrom/side, side/firstTo)
}

// codec returns the codec of a track without its profile, such as "avc1". It differs
// between renditions if the settings were changed before a resolution was added.
func (t Track) codec() string {
	codec, _, _ := strings.Cut(t.Codecs[0], ".")
	return codec
}

// severalCodecs reports whether the video tracks are of more than one codec.
func (p Presentation) severalCodecs() bool {
	return slices.ContainsFunc(p.Video, func(t Track) bool { return t.codec() != p.Video[0].codec() })
}

// Target returns the EXT-X-TARGETDURATION of all playlists of the video.
func (p Presentation) Target() int {
	target := TargetDuration(p.LongestSegment.Microseconds())
	for _, t := range p.tracks() {
		for _, e := range t.entries() {
			target = max(target, TargetDuration(e.Micros))
		}
	}
	return target
}

func (p Presentation) tracks() []Track {
	all := slices.Clip(p.Video)
	for _, s := range p.Audio {
		all = append(all, s.Track)
	}
	return all
}

// stats are the measurements of a track, as it is sent.
type stats struct {
	peak, average int64   // bits a second
	keyPeak       int64   // the peak of its first frames alone
	rate          Rate    // frames a second
	length        float64 // seconds
}

func (t Track) stats() stats {
	var m stats
	var size int64
	var fastest float64
	for _, g := range t.Segments {
		seconds := float64(g.End-g.Start) / float64(t.Timescale)
		m.peak = max(m.peak, bitsPerSecond(g.Size, seconds))
		m.keyPeak = max(m.keyPeak, bitsPerSecond(g.KeySize, seconds))
		if seconds >= 1 || len(t.Segments) == 1 { // the end of a video may be a frame of any length
			fastest = max(fastest, float64(g.Frames)/seconds)
		}
		size += g.Size
	}
	m.length = float64(t.Segments[len(t.Segments)-1].End-t.begin()) / float64(t.Timescale)
	m.average = bitsPerSecond(size, m.length)
	m.rate = newRate(fastest)
	return m
}

func bitsPerSecond(size int64, seconds float64) int64 {
	return int64(math.Ceil(float64(size) * 8 / seconds))
}
