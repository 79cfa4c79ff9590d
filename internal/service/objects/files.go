package objects

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/video"
)

// File is what the name of a playback file says. Its methods hold the rules that differ between the sorts of
// files: which files a video has, and which of them are still being made.
//
// The files of a resolution follow from the resolution. A video has others if it lists them; their
// names begin with a letter.
type File struct {
	Resolution video.Name // "" for a listed file
	Thumbnail  int        // its number, whatever its format; -1: the rendition file
	Listed     string     // the name of a listed file
}

// fileNames has a row for each sort of file: the form of its name, and what the name says.
var fileNames = []struct {
	form *regexp.Regexp
	file func(match []string) (f File, ok bool)
}{
	{regexp.MustCompile(`^([0-9]+[pk])\.mp4$`), func(m []string) (File, bool) {
		return File{Resolution: video.Name(m[1]), Thumbnail: -1}, true
	}},
	{regexp.MustCompile(`^([0-9]+[pk])-([0-9]{1,2})\.(?:jpg|avif|webp)$`), func(m []string) (File, bool) {
		i, err := strconv.Atoi(m[2])
		// "00" would be a second address of the same thumbnail, and there is no such object.
		return File{Resolution: video.Name(m[1]), Thumbnail: i}, err == nil && strconv.Itoa(i) == m[2]
	}},
	{regexp.MustCompile(`^[a-z][a-z0-9]*([-.][a-z0-9]+){1,20}$`), func(m []string) (File, bool) {
		return File{Listed: m[0]}, len(m[0]) <= maxListed
	}},
}

// maxListed is the length of the name of a listed file.
const maxListed = 100

// ParseFile tells from its name what a file is.
func ParseFile(name string) (f File, ok bool) {
	if n, found := strings.CutSuffix(name, ".mp4"); found && video.Name(n).Valid() { // what is asked for most
		return File{Resolution: video.Name(n), Thumbnail: -1}, true
	}
	for _, row := range fileNames {
		if m := row.form.FindStringSubmatch(name); m != nil {
			f, ok = row.file(m)
			return f, ok && (f.Listed != "" || f.Resolution.Valid())
		}
	}
	return File{}, false
}

// RenditionFile is the name of the MP4 file of a resolution.
func RenditionFile(n video.Name) string { return string(n) + ".mp4" }

// ThumbnailFile is the name of a thumbnail of a resolution.
func ThumbnailFile(n video.Name, i int) string { return string(n) + "-" + strconv.Itoa(i) + ".jpg" }

// HasAlternates reports whether a file is a picture that may exist in other formats: the JPEG of a
// thumbnail or of the poster.
func HasAlternates(file string) bool {
	if !strings.HasSuffix(file, ".jpg") { // nearly everything that is played
		return false
	}
	f, ok := ParseFile(file)
	return ok && (f.Listed == "" || file == video.PosterFile)
}

// CaptionsFile is the name of a file with timed text. Other text has another name, because the
// content of a name never changes.
func CaptionsFile(language string, text []byte) string {
	sum := sha256.Sum256(text)
	return "captions-" + strings.ToLower(language) + "-" + hex.EncodeToString(sum[:6]) + ".vtt"
}

// IsRendition reports whether f is the MP4 file of a resolution.
func (f File) IsRendition() bool { return f.Listed == "" && f.Thumbnail < 0 }

// Pending reports whether this file of a resolution is still being made.
func (f File) Pending(v video.Video) bool {
	r, has := f.resolution(v)
	return has && !r.Status.Finished()
}

// Kept reports whether this file of a video is kept. Files of a failed resolution are not.
func (f File) Kept(v video.Video) bool {
	if f.Listed != "" {
		_, has := v.File(f.Listed)
		return has
	}
	r, has := f.resolution(v)
	return has && r.Status != video.Fail
}

// resolution returns the resolution of a video that this file belongs to, if the video has such a file.
func (f File) resolution(v video.Video) (video.Resolution, bool) {
	r, has := v.Resolution(f.Resolution)
	return r, has && f.Thumbnail < len(v.Thumbnails)
}

// ResolutionFiles are the names of all files that people play of a resolution. They are removed
// together, and a CDN forgets them together.
func ResolutionFiles(v video.Video, name video.Name) []string {
	files := []string{RenditionFile(name)}
	for _, c := range v.Codecs {
		files = append(files, video.VariantFile(c, name))
	}
	for i := range v.Thumbnails {
		jpeg := ThumbnailFile(name, i)
		files = append(files, jpeg)
		for _, f := range video.PictureFormats {
			files = append(files, video.AlternateFile(jpeg, f))
		}
	}
	return files
}

// PlaybackKeys are all keys that ResolutionFiles may have.
func PlaybackKeys(v video.Video, name video.Name) []string {
	var keys []string
	for _, file := range ResolutionFiles(v, name) {
		keys = append(keys, Places(v, file)...)
	}
	return keys
}
