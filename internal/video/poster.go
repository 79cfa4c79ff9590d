package video

const (
	// PosterKind is the kind of the poster: a JPEG of a telling frame.
	PosterKind FileKind = "poster"
	// PosterFile is its name.
	PosterFile = "poster.jpg"
)
