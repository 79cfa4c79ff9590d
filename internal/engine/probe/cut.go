package probe

import (
	"slices"

	"github.com/spool-video/spool/internal/video"
)

// cut is what a timeline keeps of the frames that Cut took away.
type cut struct {
	origin int64 // when the first frame of the file is shown
	until  int64 // when the first frame behind the part is shown; video.Forever: the part goes on to the end of the file
	begins bool  // frames before the part were taken away
}

// Cut leaves the frames from one time up to, but not including, another one, and reports whether there are any. end
// is when the last of them ends, at the latest. Keyframes stay, because decoding may have to begin before the part. It
// needs a sorted timeline.
func (l *Timeline) Cut(from, to, end int64) bool {
	i, _ := slices.BinarySearch(l.Shown, from)
	j, _ := slices.BinarySearch(l.Shown, to)
	if i >= j {
		return false
	}
	l.part = &cut{origin: l.First, until: video.Forever, begins: i > 0}
	last := l.Shown[j-1]
	if j < len(l.Shown) {
		l.part.until = l.Shown[j]
		l.LastDuration = max(min(l.Shown[j], end)-last, 1)
	} else if l.LastDuration > 0 {
		l.LastDuration = max(min(l.LastDuration, end-last), 1)
	}
	l.Shown = l.Shown[i:j]
	l.First, l.Last = l.Shown[0], last
	l.End = last + l.LastDuration
	return true
}

// Origin returns when the first frame of the file is shown, also of one that was cut.
func (l *Timeline) Origin() int64 {
	if l.part != nil {
		return l.part.origin
	}
	return l.First
}

// Until returns when the first frame behind a part is shown; video.Forever: it goes on to the end of the file.
func (l *Timeline) Until() int64 {
	if l.part != nil {
		return l.part.until
	}
	return video.Forever
}

// BeginsLate reports whether frames before the first one were cut off.
func (l *Timeline) BeginsLate() bool { return l.part != nil && l.part.begins }

// Opening returns the keyframe from which the first frame is decoded; with back, so many keyframes earlier. It is the
// beginning of the file, unless frames were cut off.
func (l *Timeline) Opening(back int) int64 {
	if !l.BeginsLate() || l.Untimed {
		return video.NoSeek
	}
	return l.SeekTo(l.First, back)
}
