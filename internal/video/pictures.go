package video

import (
	"fmt"
	"strings"
)

// The pictures of a video beside its poster.
const (
	// StoryboardKind is the kind of the storyboard: WebVTT that says which part of which sprite shows
	// the video at which time.
	StoryboardKind FileKind = "storyboard"
	// StoryboardFile is its name.
	StoryboardFile = "storyboard.vtt"
	// SpriteKind is the kind of the sprites of a storyboard: JPEGs of many small pictures each.
	SpriteKind FileKind = "sprite"
	// PreviewKind is the kind of the preview: a short silent animation.
	PreviewKind FileKind = "preview"
	// PreviewFile is its name.
	PreviewFile = "preview.webp"
)

// ThumbnailFile is the end of the address at which any frame is made into a picture. There is no such object.
const ThumbnailFile = "thumbnail"

// SpriteFile is the name of sprite n of a storyboard.
func SpriteFile(n int) string { return fmt.Sprintf("storyboard-%d.jpg", n) }

// IsStoryboardFile reports whether a file is a storyboard or one of its sprites.
func IsStoryboardFile(name string) bool {
	return name == StoryboardFile || strings.HasPrefix(name, "storyboard-") && strings.HasSuffix(name, ".jpg")
}
