package video

import (
	"slices"
	"strings"
)

// The kinds of files with timed text: what is spoken, or also what is heard.
const (
	SubtitlesKind FileKind = "subtitles"
	CaptionsKind  FileKind = "captions"
)

// FileSource says where a file comes from, where both are possible.
type FileSource string

const (
	Uploaded FileSource = "uploaded" // by a client
	Embedded FileSource = "embedded" // a track of the source
)

// MaxCaptions is how many languages a video may have captions in.
const MaxCaptions = 100

// IsCaptions reports whether a file holds timed text.
func (f File) IsCaptions() bool { return f.Kind == SubtitlesKind || f.Kind == CaptionsKind }

// Captions returns the files with timed text: one for each language.
func (v *Video) Captions() []File {
	return slices.DeleteFunc(slices.Clone(v.Files), func(f File) bool { return !f.IsCaptions() })
}

// CaptionsIn returns the file with timed text in a language, if the video has one.
func (v *Video) CaptionsIn(language string) (File, bool) {
	for _, f := range v.Files {
		if f.IsCaptions() && f.Language == language {
			return f, true
		}
	}
	return File{}, false
}

// textCodecs are the formats of text tracks that are read. Others are pictures of text.
var textCodecs = []string{"mov_text", "subrip", "srt", "ass", "ssa", "webvtt", "text", "eia_608"}

// maxTextTracks is how many text tracks of a file are read.
const maxTextTracks = 32

// TextTracks returns the tracks of the source that hold timed text.
func (p *Plan) TextTracks() []Stream {
	var all []Stream
	if len(p.Jumps) > 0 { // the texts would be shown at the wrong times after a jump
		return nil
	}
	for _, s := range p.Streams {
		if s.Type == "subtitle" && slices.Contains(textCodecs, strings.ToLower(s.Codec)) && len(all) < maxTextTracks {
			all = append(all, s)
		}
	}
	return all
}

// ClosedCaptions is the track that the closed captions of a broadcast are (CEA-608), which are in its
// frames. The language is not told.
var ClosedCaptions = Stream{Index: -1, Type: "subtitle", Codec: "eia_608", Title: "Closed captions"}

// MayHaveClosedCaptions reports whether a source is a recording of a broadcast, as far as its formats
// tell. Such sources are searched for closed captions; others have none worth decoding them twice.
func (p *Plan) MayHaveClosedCaptions() bool {
	return len(p.Jumps) == 0 && slices.Contains([]string{"mpegts", "mpeg", "mxf"}, p.Input.Container) &&
		slices.Contains([]string{"mpeg2video", "h264"}, p.Input.Codec)
}

// Is reports whether a stream is meant for something, in ffmpeg's words.
func (s Stream) Is(disposition string) bool { return slices.Contains(s.Dispositions, disposition) }
