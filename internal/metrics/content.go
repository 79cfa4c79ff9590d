package metrics

import (
	"path"
	"strings"
)

// Content is what a response sends.
type Content string

// The contents that are told apart.
const (
	Film     Content = "film"     // a whole file of a rendition, or a range of it
	Segment  Content = "segment"  // a piece of a stream
	Playlist Content = "playlist" // HLS playlists and DASH manifests
	Picture  Content = "picture"  // thumbnails, posters, storyboards, previews
	Text     Content = "text"     // captions, chapters, and where the pictures of a storyboard are
	Answer   Content = "api"      // of the JSON API
	Page     Content = "page"     // pages for people, and what they load
)

// Contents lists them.
var Contents = []Content{Film, Segment, Playlist, Picture, Text, Answer, Page}

// Played returns what a playback URL with this file name sends.
func Played(file string) Content {
	switch path.Ext(file) {
	case ".m3u8", ".mpd":
		return Playlist
	case ".m4s":
		return Segment
	case ".jpg", ".webp", ".avif":
		return Picture
	case ".vtt", ".json":
		return Text
	}
	if strings.HasSuffix(file, "-init.mp4") {
		return Segment
	}
	return Film
}
