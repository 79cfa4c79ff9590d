package plan

import (
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

// setBytes notes on each chunk how many bytes of the source it has. Most chunks begin at keyframes; where one does not,
// both sides have their part of the GOP.
func setBytes(chunks []video.Chunk, l *probe.Timeline) {
	until := l.Last + max(l.LastDuration, 1)
	for i := range chunks {
		c := &chunks[i]
		c.Bytes = bytesBetween(l, c.Start, min(c.End, until), until)
	}
}

// bytesBetween returns how many bytes the frames between two times have. The last frame ends at until.
func bytesBetween(l *probe.Timeline, start, end, until int64) (bytes int64) {
	for i, k := range l.Keys {
		next := until
		if i+1 < len(l.Keys) {
			next = l.Keys[i+1].PTS
		}
		if min(end, next) > start && k.PTS < end {
			bytes += partOf(k.Bytes, max(k.PTS, l.First), next, start, end)
		}
	}
	return bytes
}

// partOf returns how much of a GOP lies between start and end.
func partOf(bytes, from, to, start, end int64) int64 {
	if from >= start && to <= end || to <= from {
		return bytes
	}
	return int64(float64(bytes) * float64(min(to, end)-max(from, start)) / float64(to-from))
}
