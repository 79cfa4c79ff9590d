package blob

import (
	"fmt"
	"path"
	"strings"
)

const (
	// MaxKey is the maximum length of a key. S3 allows 1024 bytes; the rest is left for
	// the prefix in a bucket and the path of a data directory.
	MaxKey = 512
	// MaxElement is the maximum length of one element of a key: every common file
	// system accepts names of this length.
	MaxElement = 255
)

// ContentType returns the media type of an object by its key. It knows the types that
// players ask for; all others are octet streams.
func ContentType(key string) string {
	switch path.Ext(key) {
	case ".mp4":
		return "video/mp4"
	case ".jpg":
		return "image/jpeg"
	case ".m3u8":
		return "application/vnd.apple.mpegurl"
	case ".mpd":
		return "application/dash+xml"
	case ".m4s":
		return "video/iso.segment"
	case ".m4a":
		return "audio/mp4"
	case ".vtt":
		return "text/vtt; charset=utf-8"
	case ".json":
		return "application/json"
	case ".webp":
		return "image/webp"
	case ".avif":
		return "image/avif"
	}
	return "application/octet-stream"
}

// CheckKey returns an error that wraps ErrBadKey unless key has the form that
// Store describes. Checked calls it before a back end sees the key, so
// back ends may join keys to a folder or to the prefix of a bucket.
func CheckKey(key string) error {
	if key == "" {
		return fmt.Errorf("%w: it is empty", ErrBadKey)
	}
	if len(key) > MaxKey {
		return fmt.Errorf("%w: %d bytes are more than %d", ErrBadKey, len(key), MaxKey)
	}
	for element := range strings.SplitSeq(key, "/") {
		if why := problemWith(element); why != "" {
			return fmt.Errorf("%w: %q %s", ErrBadKey, key, why)
		}
	}
	return nil
}

// startsKeys reports whether there can be keys that start with prefix.
func startsKeys(prefix string) bool {
	folder, name := "", prefix
	if i := strings.LastIndexByte(prefix, '/'); i >= 0 {
		folder, name = prefix[:i], prefix[i+1:]
		if CheckKey(folder) != nil {
			return false
		}
	}
	return name == "" || CheckKey(name) == nil
}

// problemWith says what is wrong with one element of a key, or returns "".
func problemWith(element string) string {
	switch {
	case element == "":
		return "has an empty element"
	case len(element) > MaxElement:
		return fmt.Sprintf("has an element of more than %d bytes", MaxElement)
	case element[0] == '.':
		return "has an element that starts with a dot"
	case strings.ContainsFunc(element, isBadInKey):
		return "has a character other than letters, digits, '.', '_' and '-'"
	}
	return ""
}

func isBadInKey(c rune) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return false
	}
	return c != '.' && c != '_' && c != '-'
}
