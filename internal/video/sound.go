package video

import (
	"slices"
	"strconv"
	"strings"
)

// TrackKind says what people hear in a sound track.
type TrackKind string

const (
	MainTrack   TrackKind = "main"
	Dub         TrackKind = "dub"
	Commentary  TrackKind = "commentary"
	Description TrackKind = "description" // of the pictures, for people who do not see them
)

// MaxEmbeddedTracks is how many sound tracks of a file become tracks of the video.
const MaxEmbeddedTracks = 16

// TrackFileKind is the kind of the file of one sound track.
const TrackFileKind FileKind = "audio"

// FirstTrack is the name of the sound that a video has from its file: the one that its MP4 files hold at first.
const FirstTrack = "audio"

// Sound is what viewers of a video can hear. It is stored as JSON, so fields may be added but never change their meaning.
type Sound struct {
	Tracks []AudioTrack `json:"tracks"` // in the order shown to people
	// InFiles is the number of the track that the MP4 files hold; 0: none.
	InFiles int `json:"inFiles,omitempty"`
	// Last is the highest number that a track has had.
	Last int `json:"last,omitempty"`
}

// AudioTrack is one sound track of a video.
type AudioTrack struct {
	ID     string `json:"id"`
	Number int    `json:"number"` // counted from 1, and never used again
	// Name is what its files begin with. What is behind a name never changes.
	Name     string     `json:"name"`
	Language string     `json:"language"` // BCP 47
	Label    string     `json:"label"`    // for people, and unique
	Kind     TrackKind  `json:"kind"`
	Source   FileSource `json:"source"`
	Default  bool       `json:"default,omitempty"` // one has it, unless there are none
	Status   Status     `json:"status"`
	Failure  *Failure   `json:"failure,omitempty"`
}

// File is the name of the file with the track alone. A track of a video that was made before there were such files has
// none; see Video.File.
func (t AudioTrack) File() string { return t.Name + ".m4a" }

// TrackName returns the name of a further track. The last digits of an ID are random.
func TrackName(id string) string { return FirstTrack + "-" + id[strings.LastIndexByte(id, '-')+1:] }

// AudioTracks returns the sound tracks of the video. While it is not inspected there are none.
func (v *Video) AudioTracks() []AudioTrack {
	if v.Sound == nil {
		return nil
	}
	return v.Sound.Tracks
}

// AwaitsTrack reports whether a file is the one of a sound track that is still being made.
func (v *Video) AwaitsTrack(file string) bool {
	t, ok := v.Sound.find(func(t AudioTrack) bool { return t.File() == file })
	return ok && v.StatusOf(t) == Processing
}

// StatusOf returns the status of a sound track. A video that failed makes no more of them.
func (v *Video) StatusOf(t AudioTrack) Status {
	if v.Status == Fail && !t.Status.Finished() {
		return Fail
	}
	return t.Status
}

// Track returns the track with a number.
func (s *Sound) Track(number int) (AudioTrack, bool) {
	return s.find(func(t AudioTrack) bool { return t.Number == number })
}

// Default returns the track that players begin with.
func (s *Sound) Default() (AudioTrack, bool) {
	return s.find(func(t AudioTrack) bool { return t.Default })
}

func (s *Sound) find(is func(AudioTrack) bool) (AudioTrack, bool) {
	if s == nil {
		return AudioTrack{}, false
	}
	i := slices.IndexFunc(s.Tracks, is)
	if i < 0 {
		return AudioTrack{}, false
	}
	return s.Tracks[i], true
}

// With returns s with a track in the place of the one that has its number. If the default track has failed, the first
// one that is ready becomes the default.
func (s *Sound) With(t AudioTrack) *Sound {
	other := *s
	other.Tracks = slices.Clone(s.Tracks)
	for i := range other.Tracks {
		if other.Tracks[i].Number == t.Number {
			other.Tracks[i] = t
		}
	}
	if first, _ := other.Default(); first.Status != Fail {
		return &other
	}
	if ready, ok := other.find(func(t AudioTrack) bool { return t.Status == Ready }); ok {
		other.setDefault(ready.Number)
	}
	return &other
}

func (s *Sound) setDefault(number int) {
	for i := range s.Tracks {
		s.Tracks[i].Default = s.Tracks[i].Number == number
	}
}

// Unfinished reports whether a track of the file is still to be made.
func (s *Sound) Unfinished() bool {
	_, found := s.find(func(t AudioTrack) bool { return t.Source == Embedded && !t.Status.Finished() })
	return found
}

// UniqueLabel returns a label with a number behind it if others have the label, too.
func UniqueLabel(label string, taken []string) string {
	unique := label
	for n := 2; slices.Contains(taken, unique); n++ {
		unique = label + " " + strconv.Itoa(n)
	}
	return unique
}
