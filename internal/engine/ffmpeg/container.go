package ffmpeg

import (
	"github.com/spool-video/spool/internal/video"
)

// timed reports whether the container says when each frame is shown. In the
// others ffmpeg counts frames, and where it begins to count is not ours to know.
func HasTimestamps(in video.Input) bool {
	switch in.Container {
	case "avi", "h264", "hevc", "m4v", "mpegvideo":
		return false
	}
	return true
}

// leaps reports whether the clock of a container leaps where a broadcast was
// interrupted. In other containers a long step is a picture that stays long.
func ClockLeaps(container string) bool { return container == "mpegts" || container == "mpeg" }
