package stream

import (
	"regexp"
	"strconv"
)

// Kind is what a file of a stream is for.
type Kind int

const (
	Master   Kind = iota // the renditions, for HLS
	Manifest             // the renditions with all their segments, for DASH
	Playlist             // the segments of one track, for HLS
	Init                 // the decoder configuration of a track
	Segment
	FramesPlaylist // the first frames of the segments of one track, for HLS
	Frame          // one of them
	TextPlaylist   // the segments of one text, for HLS
	TextSegment    // what is shown in one of them
	TextFile       // all of a text, for DASH
	ChaptersVTT    // the chapters, for browsers
	ChaptersJSON   // the chapters, for Apple's players
)

// AudioTrack is the sound that all renditions share at first. Further sound tracks begin with it, such as
// "audio-1f2a3b4c5d6e"; the other tracks are named like their resolutions, such as "720p".
const AudioTrack = "audio"

// audioTrack is the form of the names of sound tracks.
const audioTrack = AudioTrack + `(?:-[0-9a-f]{12})?`

var soundName = regexp.MustCompile(`^` + audioTrack + `$`)

// IsAudio reports whether a track is one of sound.
func IsAudio(track string) bool { return soundName.MatchString(track) }

// videoTrack is the form of the names of the others. Those in another codec than
// H.264 begin with it, such as "av1-720p".
const videoTrack = `(?:[a-z][a-z0-9]*-)?[0-9]+[pk]`

// MasterFile is where an HLS player begins, ManifestFile a DASH player.
const (
	MasterFile   = "master.m3u8"
	ManifestFile = "manifest.mpd"
)

// The files with the chapters of a video.
const (
	ChaptersVTTFile  = "chapters.vtt"
	ChaptersJSONFile = "chapters.json"
)

// namedFiles are the files of which a stream has one.
var namedFiles = map[string]Kind{MasterFile: Master, ManifestFile: Manifest, ChaptersVTTFile: ChaptersVTT, ChaptersJSONFile: ChaptersJSON}

// File is the parsed name of a file of a stream.
type File struct {
	Kind    Kind
	Version string // of what belongs to a track: see Prefix
	Track   string // "" for the files of which a stream has one
	Number  int    // of a segment or frame, counted from 0
}

// Prefix is what the names of the files of a version of a video begin with, except for namedFiles. So no name
// means a file of two versions. The first version, "", has no prefix.
func Prefix(version string) string {
	if version == "" {
		return ""
	}
	return "v" + version + "."
}

// framesSuffix follows the name of a track in the names of its single frames.
const framesSuffix = "-iframes"

// initSuffix follows the name of a track in the name of its init segment.
const initSuffix = "-init.mp4"

// wholeSuffix follows the name of a text in the name of the file with all of it.
const wholeSuffix = "-all"

var (
	textFile  = regexp.MustCompile(`^(captions-[a-z0-9-]{1,50}-[0-9a-f]{12})(?:(\.m3u8)|(` + wholeSuffix + `\.vtt)|-([0-9]{1,6})\.vtt)$`)
	trackFile = regexp.MustCompile(`^(` + audioTrack + `|` + videoTrack + `)(?:(\.m3u8)|(-init\.mp4)|-([0-9]{1,6})\.m4s)$`)
	versioned = regexp.MustCompile(`^v([0-9a-f]{12})\.(.*)$`)
	frameFile = regexp.MustCompile(`^(` + videoTrack + `)` + framesSuffix + `(?:(\.m3u8)|-([0-9]{1,6})\.m4s)$`)
)

// Parse parses a file's name. It reports whether a stream can have such a file.
// The names are those that the playlists contain, and no others: a second name
// of the same segment would be a second copy in every cache.
func Parse(name string) (File, bool) {
	if kind, ok := namedFiles[name]; ok {
		return File{Kind: kind}, true
	}
	if m := versioned.FindStringSubmatch(name); m != nil {
		f, ok := parseTrack(m[2])
		f.Version = m[1]
		return f, ok
	}
	return parseTrack(name)
}

// parseTrack parses the name of a file of one track.
func parseTrack(name string) (File, bool) {
	if m := frameFile.FindStringSubmatch(name); m != nil {
		if m[2] != "" {
			return File{Kind: FramesPlaylist, Track: m[1]}, true
		}
		return numbered(Frame, m[1], m[3])
	}
	if m := textFile.FindStringSubmatch(name); m != nil {
		switch {
		case m[2] != "":
			return File{Kind: TextPlaylist, Track: m[1]}, true
		case m[3] != "":
			return File{Kind: TextFile, Track: m[1]}, true
		}
		return numbered(TextSegment, m[1], m[4])
	}
	m := trackFile.FindStringSubmatch(name)
	switch {
	case m == nil:
		return File{}, false
	case m[2] != "":
		return File{Kind: Playlist, Track: m[1]}, true
	case m[3] != "":
		return File{Kind: Init, Track: m[1]}, true
	}
	return numbered(Segment, m[1], m[4])
}

// numbered is a file with a number. "00" would be a second name of the same file.
func numbered(k Kind, track, number string) (File, bool) {
	n, err := strconv.Atoi(number)
	return File{Kind: k, Track: track, Number: n}, err == nil && strconv.Itoa(n) == number
}

// TrackFiles returns the names of the files of a track, but for segments: their number is not known here.
func TrackFiles(track string) []string {
	files := []string{playlistFile(track), initFile(track)}
	if IsAudio(track) {
		return files
	}
	return append(files, playlistFile(track+framesSuffix))
}

func playlistFile(track string) string { return track + ".m3u8" }

func initFile(track string) string { return track + initSuffix }

func segmentFile(track string, n int) string { return track + "-" + strconv.Itoa(n) + ".m4s" }
