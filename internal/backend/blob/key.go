package blob

import (
	"fmt"
	"path"
	"strings"
)

const (
	// MaxKey is the greatest length of a key. S3 would take 1024 bytes; the rest
	// is left to the prefix of a bucket and to the path of a data directory.
	MaxKey = 512
	// MaxElement is the greatest length of a key's element: what every common
	// file system accepts as a name.
	MaxElement = 255
)

// ContentType is what a player is told that the object of a key is. It knows
// what is played; nobody need know what anything else is.
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
	}
	return "application/octet-stream"
}

// CheckKey returns an error that wraps ErrBadKey unless key has the form that
// Store describes. Back ends call it before they touch anything, so a key that
// passes is safe to join to a folder or a bucket's prefix.
func CheckKey(key string) error {
	if key == "" {
		return fmt.Errorf("%w: it is empty", ErrBadKey)
	}
	if len(key) > MaxKey {
		return fmt.Errorf("%w: %d bytes are more than %d", ErrBadKey, len(key), MaxKey)
	}
	for element := range strings.SplitSeq(key, "/") {
		if why := faultOf(element); why != "" {
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

// faultOf says what is wrong with one element of a key, or nothing.
func faultOf(element string) string {
	switch {
	case element == "":
		return "has an empty element"
	case len(element) > MaxElement:
		return fmt.Sprintf("has an element of more than %d bytes", MaxElement)
	case element[0] == '.':
		return "has an element that starts with a dot"
	case strings.ContainsFunc(element, notInKeys):
		return "has a character other than letters, digits, '.', '_' and '-'"
	}
	return ""
}

func notInKeys(c rune) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return false
	}
	return c != '.' && c != '_' && c != '-'
}
