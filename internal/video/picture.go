package video

import "strings"

// PictureFormat is a format in which a picture may exist beside JPEG. Its name is
// the extension of the file.
type PictureFormat string

const (
	AVIF PictureFormat = "avif"
	WebP PictureFormat = "webp"
)

// PictureFormats lists them. Where a picture exists in several, the file in an
// earlier one is smaller.
var PictureFormats = []PictureFormat{AVIF, WebP}

// MediaType is the media type of the format.
func (f PictureFormat) MediaType() string { return "image/" + string(f) }

const jpegSuffix = ".jpg"

// AlternateFile is the name of a picture in another format. Only the JPEG has an
// address; the other formats are sent in its place to clients that prefer them.
func AlternateFile(jpeg string, f PictureFormat) string {
	return strings.TrimSuffix(jpeg, jpegSuffix) + "." + string(f)
}

// CutFormat returns the name of the JPEG that a file stands for and the format
// of the file: "" for one that is in no other format.
func CutFormat(file string) (jpeg string, f PictureFormat) {
	for _, f := range PictureFormats {
		if name, found := strings.CutSuffix(file, "."+string(f)); found && file != PreviewFile {
			return name + jpegSuffix, f
		}
	}
	return file, ""
}
