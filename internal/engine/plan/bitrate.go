package plan

import (
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

// peakSeconds is over how many seconds the peak bitrate of the source is
// measured: long enough that a single large frame does not count, short enough
// that a busy scene in a quiet video does.
const peakSeconds = 5

// setPeakBitrates notes on each chunk the peak bitrate of the source. Most
// chunks begin at keyframes; where one does not, both sides have their part of
// the GOP.
func setPeakBitrates(chunks []video.Chunk, l *probe.Timeline, tb video.Ratio) {
	for i := range chunks {
		c := &chunks[i]
		end := min(c.End, l.Last+max(l.LastDuration, 1))
		c.Bitrate = peakBitrate(l, c.Start, end, tb)
	}
}

// peakBitrate returns the highest bitrate between two times over GOPs that
// together last peakSeconds or more. A shorter rest at the end counts as part of
// the last of them.
func peakBitrate(l *probe.Timeline, start, end int64, tb video.Ratio) int64 {
	var most float64
	var bytes int64
	from := start
	for i, k := range l.Keys {
		next := l.Last + max(l.LastDuration, 1)
		if i+1 < len(l.Keys) {
			next = l.Keys[i+1].PTS
		}
		to := min(end, next)
		if to <= start || k.PTS >= end {
			continue
		}
		bytes += partOf(k.Bytes, max(k.PTS, l.First), next, start, end)
		seconds := tb.Seconds(to - from)
		left := tb.Seconds(end - to)
		if seconds <= 0 || to < end && (seconds < peakSeconds || left < peakSeconds) {
			continue
		}
		most = max(most, float64(bytes)*8/seconds)
		bytes, from = 0, to
	}
	return int64(most)
}

// partOf returns how much of a GOP lies between start and end.
func partOf(bytes, from, to, start, end int64) int64 {
	if from >= start && to <= end || to <= from {
		return bytes
	}
	return int64(float64(bytes) * float64(min(to, end)-max(from, start)) / float64(to-from))
}
