package probe

import (
	"strings"
	"unicode"

	"github.com/spool-video/spool/internal/video"
)

// Limits on what is kept of the streams of a file: it is stored with the video
// and shown to people, and a file can say anything.
const (
	maxStreams  = 100
	maxTitle    = 200 // characters
	maxLanguage = 35  // characters; the longest tags that are in use
)

// AllStreams describes the streams of the file, used or not, in their order. Of
// very many, the first are described.
func (f *Result) AllStreams() []video.Stream {
	var all []video.Stream
	for _, s := range f.Streams[:min(len(f.Streams), maxStreams)] {
		d := video.Stream{
			Index: s.Index, Type: s.Type, Codec: CodecName(s),
			Language: legible(s.Tags.Language, maxLanguage), Title: s.Title(),
		}
		for _, name := range dispositions {
			if s.Disposition[name] != 0 {
				d.Dispositions = append(d.Dispositions, name)
			}
		}
		all = append(all, d)
	}
	return all
}

// Title returns the title that the file gives a stream, as it may be shown.
func (s Stream) Title() string { return legible(s.Tags.Title, maxTitle) }

// legible returns a text of the file as it may be stored and shown: in one line,
// without characters that are not seen, and not longer than limit.
func legible(text string, limit int) string {
	text = strings.Join(strings.FieldsFunc(text, unseen), " ")
	if runes := []rune(text); len(runes) > limit {
		text = strings.TrimRight(string(runes[:limit-1]), " ") + "…"
	}
	return text
}

// unseen reports whether a character separates words, or is none at all. Those
// that change the direction of a text could make a page show something else.
func unseen(r rune) bool {
	return unicode.IsSpace(r) || r == unicode.ReplacementChar || !unicode.IsGraphic(r)
}
