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
	// Changes is how often another track became the default: the number of the task that puts it into the MP4 files.
	Changes int `json:"changes,omitempty"`
}

// MaxTracks is how many sound tracks a video may have.
const MaxTracks = 32

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
	Upload   string     `json:"upload,omitempty"`   // the key of the file that it is made of, until it is made
	Loudness *Loudness  `json:"loudness,omitempty"` // nil until it is measured, and of tracks from before that was done
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

// AwaitsTrack reports whether a file belongs to a sound track that is still being made.
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

// With returns s with a track in the place of the one that has its number, or as a new one. If there is no default track, or it
// has failed, the first one that is ready becomes the default.
func (s *Sound) With(t AudioTrack) *Sound {
	other := s.copy()
	if i := slices.IndexFunc(other.Tracks, func(o AudioTrack) bool { return o.Number == t.Number }); i >= 0 {
		other.Tracks[i] = t
	} else {
		other.Tracks, other.Last = append(other.Tracks, t), max(other.Last, t.Number)
	}
	if first, ok := other.Default(); ok && first.Status != Fail {
		return other
	}
	if ready, ok := other.find(func(t AudioTrack) bool { return t.Status == Ready }); ok {
		return other.WithDefault(ready.Number)
	}
	return other
}

// WithDefault returns s with another default track.
func (s *Sound) WithDefault(number int) *Sound {
	other := s.copy()
	other.Changes++
	for i := range other.Tracks {
		other.Tracks[i].Default = other.Tracks[i].Number == number
	}
	return other
}

// Without returns s without a track.
func (s *Sound) Without(number int) *Sound {
	other := s.copy()
	other.Tracks = slices.DeleteFunc(other.Tracks, func(t AudioTrack) bool { return t.Number == number })
	return other
}

func (s *Sound) copy() *Sound {
	if s == nil {
		return &Sound{Tracks: []AudioTrack{}}
	}
	other := *s
	other.Tracks = append([]AudioTrack{}, s.Tracks...) // none is a list, too
	return &other
}

// Labels returns the labels of all tracks but one.
func (s *Sound) Labels(but int) []string {
	var all []string
	for _, t := range s.Tracks {
		if t.Number != but {
			all = append(all, t.Label)
		}
	}
	return all
}

// ByID returns the track with an ID.
func (s *Sound) ByID(id string) (AudioTrack, bool) {
	return s.find(func(t AudioTrack) bool { return t.ID == id })
}

// LacksInFiles reports whether the MP4 files of a ready video do not hold the default track.
func (v *Video) LacksInFiles() bool {
	t, ok := v.Sound.Default()
	_, made := v.File(t.File())
	return ok && made && t.Status == Ready && v.Sound.InFiles != t.Number
}

// Waits reports whether an uploaded track is still to be made.
func (t AudioTrack) Waits() bool { return t.Upload != "" && !t.Status.Finished() }

// AwaitsUpload reports whether a sound track is still to be made of an object.
func (v *Video) AwaitsUpload(key string) bool {
	_, ok := v.Sound.find(func(t AudioTrack) bool { return t.Waits() && t.Upload == key })
	return ok
}

// UniqueLabel returns a label with a number behind it if others have the label, too.
func UniqueLabel(label string, taken []string) string {
	unique := label
	for n := 2; slices.Contains(taken, unique); n++ {
		unique = label + " " + strconv.Itoa(n)
	}
	return unique
}
