package video

// Visibility is who may play a video: everybody who has an address, or who has a signed one.
type Visibility string

const (
	Public  Visibility = "public"
	Private Visibility = "private"
)

// FilesPublic reports whether the files of v lie, or will lie, where everybody may read them. A video that becomes private
// says IsPublic until the last of its files has left that place, and new files do not go there any more.
func (v *Video) FilesPublic() bool { return v.IsPublic && v.Moving != Private }
