package mp4

import (
	"errors"
	"math"
	"math/bits"
	"time"

	mp4ff "github.com/Eyevinn/mp4ff/mp4"
)

// edit places a track on the timeline: after delay, length ticks of the media
// are played from mediaTime on. All are in ticks of the track.
type edit struct {
	delay, mediaTime, length int64
}

// maxTicks bounds every time that is read from a file, so that sums of a few of
// them cannot overflow. It is thousands of years at any real time scale.
const maxTicks = 1 << 56

var errEditList = errors.New("the edit list is not a delay and one range of media at normal speed")

// readEdit reads the edit list and moves t.pts to the timeline of the video.
func (t *track) readEdit(edts *mp4ff.EdtsBox, movieScale uint32) error {
	_, end := t.playtime() // still on the media's own timeline
	t.edit = edit{length: end}
	if edts != nil && len(edts.Elst) > 0 {
		if len(edts.Elst) > 1 {
			return errEditList
		}
		if err := t.applyEdits(edts.Elst[0].Entries, movieScale); err != nil {
			return err
		}
	}
	if t.edit.mediaTime >= end {
		return errors.New("the edit list starts behind the end of the media")
	}
	t.edit.length = min(t.edit.length, end-t.edit.mediaTime)
	for i := range t.pts {
		t.pts[i] += t.edit.delay - t.edit.mediaTime
	}
	return nil
}

func (t *track) applyEdits(entries []mp4ff.ElstEntry, movieScale uint32) error {
	if len(entries) > 0 && entries[0].MediaTime == -1 {
		delay, ok := rescale(entries[0].SegmentDuration, t.scale, movieScale)
		if !ok {
			return errEditList
		}
		t.edit.delay, entries = delay, entries[1:]
	}
	if len(entries) != 1 {
		return errEditList
	}
	e := entries[0]
	length, ok := rescale(e.SegmentDuration, t.scale, movieScale)
	if !ok || e.MediaTime < 0 || e.MediaTime > maxTicks || e.MediaRateInteger != 1 || e.MediaRateFraction != 0 {
		return errEditList
	}
	t.edit.mediaTime = e.MediaTime
	if length > 0 { // zero means: all of it
		t.edit.length = length
	}
	return nil
}

// rescale converts v from one time scale to another, to the nearest tick. It
// reports whether the result is a valid time.
func rescale(v uint64, to, from uint32) (int64, bool) {
	return mulDiv(v, to, from, from/2)
}

// rescaleUp is rescale, but rounds up: a range of media must not lose its end.
func rescaleUp(v uint64, to, from uint32) (int64, bool) {
	return mulDiv(v, to, from, from-1)
}

// mulDiv returns (v×to + add) / from.
func mulDiv(v uint64, to, from, add uint32) (int64, bool) {
	hi, lo := bits.Mul64(v, uint64(to))
	lo, carry := bits.Add64(lo, uint64(add), 0)
	if hi += carry; hi >= uint64(from) {
		return 0, false
	}
	q, _ := bits.Div64(hi, lo, uint64(from))
	return int64(q), q <= maxTicks
}

// ticks converts a time in ticks to a duration, to the nearest nanosecond. One
// that does not fit becomes the longest duration.
func ticks(n int64, scale uint32) time.Duration {
	ns, ok := rescale(uint64(max(n, 0)), uint32(time.Second), scale)
	if !ok {
		return math.MaxInt64
	}
	return time.Duration(ns)
}
