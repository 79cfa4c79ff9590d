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
)

// AudioTrack is the track that all renditions share; the others are named like
// their resolutions, such as "720p".
const AudioTrack = "audio"

// MasterFile is where an HLS player begins, ManifestFile a DASH player.
const (
	MasterFile   = "master.m3u8"
	ManifestFile = "manifest.mpd"
)

// File is the parsed name of a file of a stream.
type File struct {
	Kind   Kind
	Track  string // of everything but Master and Manifest
	Number int    // of a segment or frame, counted from 0
}

// framesSuffix follows the name of a track in the names of its single frames.
const framesSuffix = "-iframes"

var (
	trackFile = regexp.MustCompile(`^(` + AudioTrack + `|[0-9]+[pk])(?:(\.m3u8)|(-init\.mp4)|-([0-9]{1,6})\.m4s)$`)
	frameFile = regexp.MustCompile(`^([0-9]+[pk])` + framesSuffix + `(?:(\.m3u8)|-([0-9]{1,6})\.m4s)$`)
)

// Parse parses a file's name. It reports whether a stream can have such a file.
// The names are those that the playlists contain, and no others: a second name
// of the same segment would be a second copy in every cache.
func Parse(name string) (File, bool) {
	if name == MasterFile {
		return File{Kind: Master}, true
	}
	if name == ManifestFile {
		return File{Kind: Manifest}, true
	}
	if m := frameFile.FindStringSubmatch(name); m != nil {
		if m[2] != "" {
			return File{Kind: FramesPlaylist, Track: m[1]}, true
		}
		return numbered(Frame, m[1], m[3])
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

func playlistFile(track string) string { return track + ".m3u8" }

func initFile(track string) string { return track + "-init.mp4" }

func segmentFile(track string, n int) string { return track + "-" + strconv.Itoa(n) + ".m4s" }
