package ffmpeg

import (
	"github.com/spool-video/spool/internal/video"
)

// HasTimestamps reports whether the container says when each frame is shown. In
// the others ffmpeg counts frames, and at which number it begins is not known.
func HasTimestamps(in video.Input) bool {
	if in.Still != "" {
		return true // its frames are ours
	}
	switch in.Container {
	case "avi", "h264", "hevc", "m4v", "mpegvideo":
		return false
	}
	return true
}

// ClockLeaps reports whether the clock of a container jumps forward where a
// broadcast was interrupted. In other containers a long step is a frame that is
// shown for long.
func ClockLeaps(container string) bool { return container == "mpegts" || container == "mpeg" }
