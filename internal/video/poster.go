package video

import (
	"strings"
	"time"
)

// The poster is the picture that stands for a video before it is played. The automatic one is a telling frame. Where a
// client has chosen another one, the automatic one is kept beside it, with its other formats, so that it can be taken
// again.
const (
	// PosterKind is the kind of the poster: a JPEG, and the other formats of the automatic one.
	PosterKind FileKind = "poster"
	// PosterFile is its name.
	PosterFile = "poster.jpg"
	// KeptPosterKind is the kind of an automatic poster that is not shown.
	KeptPosterKind FileKind = "kept-poster"
	// KeptPosterFile is its name.
	KeptPosterFile = "poster-automatic.jpg"
)

// Chosen is the source of a poster that a client has chosen from the frames of the video; see also Uploaded.
const Chosen FileSource = "chosen"

// PosterFiles are the names of the poster in all formats, JPEG last.
func PosterFiles() []string {
	var all []string
	for _, f := range PictureFormats {
		all = append(all, AlternateFile(PosterFile, f))
	}
	return append(all, PosterFile)
}

// KeptPoster returns the name under which a file of the automatic poster is kept.
func KeptPoster(name string) string { return strings.Replace(name, "poster.", "poster-automatic.", 1) }

// PosterIsChosen reports whether a client has chosen the poster.
func (v *Video) PosterIsChosen() bool {
	poster, _ := v.File(PosterFile)
	_, kept := v.File(KeptPosterFile)
	return kept || poster.Source != ""
}

// PosterIsUploaded reports whether the poster is a picture that a client has uploaded.
func (v *Video) PosterIsUploaded() bool {
	poster, _ := v.File(PosterFile)
	return poster.Source == Uploaded
}

// AutomaticPoster returns the automatic poster, if it was made, wherever it is.
func (v *Video) AutomaticPoster() (File, bool) {
	if v.PosterIsChosen() {
		return v.File(KeptPosterFile)
	}
	return v.File(PosterFile)
}

// usualMoment is which part of a video has been shown at the moment where a poster is looked for first.
const usualMoment = 0.3

// PosterMoment returns when the poster is shown in the video. An uploaded picture is not: then it is the moment of the
// automatic poster.
func (v *Video) PosterMoment() time.Duration {
	poster, _ := v.File(PosterFile)
	if poster.Source == Uploaded {
		poster, _ = v.File(KeptPosterFile)
	}
	if poster.At == nil {
		return time.Duration(usualMoment * float64(v.Duration))
	}
	return time.Duration(*poster.At * float64(time.Second))
}
