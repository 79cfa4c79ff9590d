package video

import "slices"

// FileKind says what a published file is for.
type FileKind string

// File is a published file of a video that belongs to none of its resolutions. The
// list of these files is all that serving, keeping and deleting them needs, so a new
// kind of file changes only the code that makes it and the code that reads it.
//
// The list is stored as JSON with the video, so fields may be added but never
// change their meaning.
type File struct {
	// Name is the name of the object in the video's playback folder, and the end of
	// its URL. The content of a name never changes, but for posters: caches keep it.
	Name        string   `json:"name"`
	Kind        FileKind `json:"kind"`
	ContentType string   `json:"contentType"`
	Language    string   `json:"language,omitempty"` // BCP 47
	Label       string   `json:"label,omitempty"`    // for people
	Size        int64    `json:"size"`               // in bytes

	// Width and Height are the size of a poster in pixels; 0: not known.
	Width  int `json:"width,omitempty"`
	Height int `json:"height,omitempty"`

	Source FileSource `json:"source,omitempty"` // of captions, and of a poster that a client has chosen

	// At is when a poster is shown in the video, in seconds; nil: not known, or not at all.
	At *float64 `json:"at,omitempty"`
}

// File returns the listed file with this name, if the video has one.
func (v *Video) File(name string) (File, bool) {
	for _, f := range v.Files {
		if f.Name == name {
			return f, true
		}
	}
	return File{}, false
}

// HasLike reports whether the video lists a file for the same use as f: captions in one language, or files of one kind.
func (v *Video) HasLike(f File) bool {
	return slices.ContainsFunc(v.Files, func(o File) bool {
		return o.Language == f.Language && (o.Kind == f.Kind || o.IsCaptions() && f.IsCaptions())
	})
}

// WithoutFile returns the list of v without the file of a name.
func (v *Video) WithoutFile(name string) []File {
	// A list that became empty is a list, too.
	return slices.DeleteFunc(append([]File{}, v.Files...), func(f File) bool { return f.Name == name })
}

// WithFiles returns the list of v with some files added. They replace files of
// the same name.
func (v *Video) WithFiles(added ...File) []File {
	kept := slices.DeleteFunc(slices.Clone(v.Files), func(f File) bool {
		return slices.ContainsFunc(added, func(a File) bool { return a.Name == f.Name })
	})
	return append(kept, added...)
}
