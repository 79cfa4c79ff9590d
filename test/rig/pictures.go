package rig

import (
	"path"
	"slices"
	"strings"
)

// WithoutAlternates returns a list of files without the pictures in other formats than JPEG whose JPEG is
// in the list: which of them exist depends on the picture.
func WithoutAlternates(files []string) []string {
	return slices.DeleteFunc(slices.Clone(files), func(file string) bool {
		ext := path.Ext(file)
		return (ext == ".avif" || ext == ".webp") && slices.Contains(files, strings.TrimSuffix(file, ext)+".jpg")
	})
}
