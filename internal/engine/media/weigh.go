package media

import "github.com/spool-video/spool/internal/video"

// busySeconds is over how long a time the source's bit rate is measured: long
// enough that a single large picture does not count, short enough that a wild
// scene in a quiet film does.
const busySeconds = 5

// weigh notes on each chunk how much the source spends on its busiest seconds.
// Chunks begin at keyframes, so that groups of pictures belong to one of them.
func (l *timeline) weigh(chunks []video.Chunk, tb video.Ratio) {
	for i := range chunks {
		c := &chunks[i]
		end := min(c.End, l.last+max(l.lastTick, 1))
		c.Bitrate = l.busiest(c.Start, end, tb)
	}
}

// busiest returns the highest bit rate between two times over groups of pictures
// that last busySeconds or more together. What is left over at the end counts as
// part of the last of them.
func (l *timeline) busiest(start, end int64, tb video.Ratio) int64 {
	var most float64
	var bytes int64
	from := start
	for i, k := range l.keys {
		to := end
		if i+1 < len(l.keys) {
			to = min(end, l.keys[i+1].pts)
		}
		if to <= start || k.pts >= end {
			continue
		}
		bytes += k.bytes
		seconds := tb.Seconds(to - from)
		left := tb.Seconds(end - to)
		if seconds <= 0 || to < end && (seconds < busySeconds || left < busySeconds) {
			continue
		}
		most = max(most, float64(bytes)*8/seconds)
		bytes, from = 0, to
	}
	return int64(most)
}
