package stream

import (
	"bytes"
	"fmt"
	"strings"
	"time"
	"unicode"
)

// TextLength is how long a segment of text lasts. It is never longer than the target
// duration of a video's playlists, and does not depend on the video, so that a segment
// can be made from the text alone.
const TextLength = minTarget * time.Second

// textGroup names the group of all texts in a master playlist.
const textGroup = "captions"

// Text is a track of timed text.
type Text struct {
	Name     string // what the names of its files begin with
	Language string // BCP 47
	Label    string // for people
	Captions bool   // tells what is heard, too, for people who do not hear it
}

// TextName returns the name of a text whose file is stored under a name. It reports
// false for a file that is none.
func TextName(file string) (string, bool) {
	name, is := strings.CutSuffix(file, ".vtt")
	if f, ok := Parse(playlistFile(name)); !is || !ok || f.Kind != TextPlaylist {
		return "", false
	}
	return name, true
}

// TextFiles returns the names of the files that are made of a text, but for segments.
func TextFiles(name string) []string { return []string{playlistFile(name), wholeFile(name)} }

func wholeFile(name string) string { return name + wholeSuffix + ".vtt" }

// Micros returns how long the video is, as far as it is there.
func (p Presentation) Micros() int64 {
	var longest int64
	for _, t := range p.Video {
		longest = max(longest, micros(t.Segments[len(t.Segments)-1].End, t.Timescale))
	}
	return longest
}

// NewTextPlaylist returns the media playlist of a text of a video that lasts so long.
func NewTextPlaylist(name string, length int64, target int, growing bool) MediaPlaylist {
	p := MediaPlaylist{Target: target, Growth: GrowthOf(time.Duration(length)*time.Microsecond, growing)}
	each := TextLength.Microseconds()
	for n, at := 0, int64(0); at < length; n, at = n+1, at+each {
		if growing && at+each > length {
			break // a segment never changes
		}
		p.Entries = append(p.Entries, Entry{fmt.Sprintf("%s-%d.vtt", name, n), min(each, length-at)})
	}
	return p
}

// writeTexts lists texts in a master playlist. None is shown unless a viewer or the
// settings of the system ask for it.
func writeTexts(b *bytes.Buffer, p Presentation) {
	taken := map[string]bool{}
	for _, t := range p.Text {
		label := quotable(t.Label)
		if label == "" || taken[label] { // names of a group differ
			label = strings.TrimSpace(label + " (" + t.Language + ")")
		}
		taken[label] = true
		purpose := ""
		if t.Captions {
			purpose = `,CHARACTERISTICS="public.accessibility.transcribes-spoken-dialog,public.accessibility.describes-music-and-sound"`
		}
		fmt.Fprintf(b, "#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"%s\",NAME=\"%s\",LANGUAGE=\"%s\",DEFAULT=NO,AUTOSELECT=YES,FORCED=NO%s,URI=\"%s\"\n",
			textGroup, label, quotable(t.Language), purpose, p.Prefix+playlistFile(t.Name)+p.Query)
	}
}

// quotable returns a text as it may stand between quotation marks, which a playlist
// cannot escape.
func quotable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '"':
			return '\''
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			return -1
		}
		return r
	}, s)
}

// textSet describes a text for DASH players, which fetch all of it at once.
func textSet(prefix string, t Text) adaptationSet {
	role := "subtitle"
	if t.Captions {
		role = "caption"
	}
	return adaptationSet{
		ContentType: "text", MimeType: "text/vtt", Language: t.Language, Label: t.Label, Roles: []property{{roleScheme, role}},
		Representations: []representation{{ID: t.Name, Bandwidth: textBandwidth, File: prefix + wholeFile(t.Name)}},
	}
}

// textBandwidth is about what text takes, in bits a second.
const textBandwidth = 256
