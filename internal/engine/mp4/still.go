package mp4

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"
)

// Still is one frame of a rendition, as a short film of its own.
type Still struct {
	Parts []Part // of a file with the frame and the frames that it is decoded from, and no others
	At    int64  // when the frame is shown there, in ticks of the track; frames may be shown before and after it
}

// Still returns the frame that is shown at a time, which is the last one after the end of the video.
func (s *Segments) Still(at time.Duration) (Still, error) {
	if !s.video || len(s.list) == 0 {
		return Still{}, errors.New("the track has no frames")
	}
	tick := s.tickAt(at)
	n := sort.Search(len(s.list), func(i int) bool { return s.list[i].Start > tick }) - 1
	key, last, shown := s.frameAt(max(n, 0), tick)
	f := fragment{mark: key, entry: s.spans[key.span].entry}
	for m := key; m.sample <= last; s.advance(&m) {
		f.add(Range{m.at, m.at + int64(s.samples[m.sample].size)})
	}
	head, err := s.head(1, f)
	if err != nil {
		return Still{}, fmt.Errorf("make the head of a frame: %w", err)
	}
	parts := []Part{{Bytes: s.Init}, {Bytes: head}}
	for _, r := range f.ranges {
		parts = append(parts, Part{Range: r})
	}
	return Still{parts, shown}, nil
}

// tickAt converts a time to ticks of the track.
func (s *Segments) tickAt(at time.Duration) int64 {
	tick, ok := mulDiv(uint64(max(at, 0)), uint32(s.Timescale), uint32(time.Second), 0)
	if !ok {
		return maxTicks
	}
	return tick
}

// frameAt returns the frame of the n-th segment that is shown at a time, with the keyframe from which it is decoded. If
// all frames are later, as in a video that begins late, it is the first one.
func (s *Segments) frameAt(n int, tick int64) (key mark, last int, shown int64) {
	m := s.list[n].mark
	latest := m // the latest keyframe
	for i := range s.list[n].Frames {
		if _, sync := slices.BinarySearch(s.sync, uint32(m.sample+1)); sync || s.sync == nil {
			latest = m
		}
		pts := m.decoded + int64(s.samples[m.sample].offset) + s.delay - s.mediaTime
		closer := pts <= tick && (pts > shown || shown > tick) || pts > tick && pts < shown
		if i == 0 || closer {
			key, last, shown = latest, m.sample, pts
		}
		s.advance(&m)
	}
	return key, last, shown
}
