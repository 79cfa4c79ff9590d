package media

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/spool-video/spool/internal/video"
)

// timeline holds when the packets of one stream are shown, in the stream's own
// time base.
type timeline struct {
	packets   int
	bytes     int64
	first     int64 // the earliest time shown
	end       int64 // when all of it has been shown
	played    int64 // how long the packets last together
	encrypted bool
	clock     clock

	// Of sound only.
	gaps []gap

	// Of video streams only.
	shown    []int64    // the time of each frame, in order of decoding until settled
	early    []int64    // likewise, of what precedes the first keyframe
	keys     []keyframe // in order of decoding
	layout   layout     // where they lie in the file
	leading  int        // how many packets after a keyframe there may be that are shown before it
	tangled  bool       // some packets are shown before the keyframe before the last
	untimed  bool       // some packets carry no time to be shown at, or the clock jumps
	last     int64      // the latest time shown
	lastTick int64      // how long the frame shown then lasts, or 0
}

// keyframe is a packet where decoding can begin.
type keyframe struct {
	pts int64
	// open says that frames shown before it follow it in the file: they need
	// the previous keyframe (an open group of pictures).
	open bool
	// border says that a chunk can begin here: it is shown itself, and all
	// that precedes it in the file is shown earlier.
	border bool
	packet int32 // its number among the packets of the stream
	bytes  int64 // of it and all packets up to the next one
}

// gap is a time without sound.
type gap struct{ from, to int64 }

const (
	// A gap is remembered when it is longer than so many packets; how long that
	// is will be known when the time base is.
	gapPackets = 200
	maxGaps    = 100
)

func newTimeline() *timeline {
	return &timeline{first: math.MaxInt64, end: math.MinInt64, last: math.MinInt64, clock: newClock()}
}

func (l *timeline) add(p packet) {
	l.packets++
	l.bytes += p.Size
	for _, s := range p.SideData {
		l.encrypted = l.encrypted || s.Type == "Encryption info"
	}
	pts, guessed := l.clock.read(p, len(l.shown))
	l.untimed = l.untimed || guessed
	discarded := strings.Contains(p.Flags, "D")
	if p.Type == "video" {
		l.layout.add(p.Position, p.Size)
		l.addFrame(pts, p.Duration, strings.Contains(p.Flags, "K"), discarded)
		if len(l.keys) > 0 {
			l.keys[len(l.keys)-1].bytes += p.Size
		}
	}
	if discarded {
		return // an edit list cuts it out
	}
	if l.end != math.MinInt64 && p.Duration > 0 && pts-l.end > gapPackets*p.Duration && len(l.gaps) < maxGaps {
		l.gaps = append(l.gaps, gap{l.end, pts})
	}
	l.played += p.Duration
	l.first = min(l.first, pts)
	l.end = max(l.end, pts+p.Duration)
}

func (l *timeline) addFrame(pts, duration int64, key, discarded bool) {
	switch {
	case key:
		l.keys = append(l.keys, keyframe{pts: pts, border: !discarded && pts > l.last, packet: int32(l.layout.packets - 1)})
	case len(l.keys) > 0 && pts < l.keys[len(l.keys)-1].pts:
		l.lead(pts)
	}
	if discarded {
		return // it is decoded because others need it
	}
	if len(l.keys) == 0 {
		l.early = append(l.early, pts)
	} else {
		l.shown = append(l.shown, pts)
	}
	if pts >= l.last {
		l.last, l.lastTick = pts, duration
	}
}

// lead notes that the packet just added is shown before the keyframe that it
// follows.
func (l *timeline) lead(pts int64) {
	k := &l.keys[len(l.keys)-1]
	k.open = true
	l.leading = max(l.leading, l.layout.packets-int(k.packet))
	l.tangled = l.tangled || len(l.keys) > 1 && pts < l.keys[len(l.keys)-2].pts
}

// move shifts the times of all frames after each jump of the clock. A film whose
// clock jumps cannot be sought in.
func (l *timeline) move(jumps []jump, shifts []int64) {
	for i, j := range jumps {
		end := len(l.shown)
		if i+1 < len(jumps) {
			end = jumps[i+1].frame
		}
		for k := j.frame; k < end; k++ {
			l.shown[k] += shifts[i]
		}
	}
	l.untimed = l.untimed || len(jumps) > 0
}

// settle puts frames and keyframes into the order in which they are shown. The
// film begins at its first keyframe, because nothing can be decoded before it,
// and has one frame for a moment, even where the file has several packets.
func (l *timeline) settle() {
	if len(l.shown) == 0 {
		l.shown = l.early // not a single keyframe: the decoder may know more
	}
	slices.Sort(l.shown)
	l.shown = slices.Compact(l.shown)
	l.first, l.last = l.shown[0], l.shown[len(l.shown)-1]
	slices.SortStableFunc(l.keys, func(a, b keyframe) int { return cmp.Compare(a.pts, b.pts) })
}

// span returns the seconds from the first frame to the beginning of the last.
// It computes with floating point because hostile times would overflow.
func (l *timeline) span(tb video.Ratio) float64 {
	return (float64(l.last) - float64(l.first)) * float64(tb.Num) / float64(tb.Den)
}

// shownAt returns the frame that is on the screen at a time: the latest one
// that is not after it.
func (l *timeline) shownAt(pts int64) int64 {
	return l.shown[max(l.countUpTo(pts)-1, 0)]
}

// countUpTo returns how many frames are shown at or before a time.
func (l *timeline) countUpTo(pts int64) int {
	i, exact := slices.BinarySearch(l.shown, pts)
	if exact {
		i++
	}
	return i
}

// seekTo returns the keyframe from which everything shown at pts and later can
// be decoded, and back keyframes before it for safety.
func (l *timeline) seekTo(pts int64, back int) int64 {
	i, exact := slices.BinarySearchFunc(l.keys, pts, func(k keyframe, pts int64) int { return cmp.Compare(k.pts, pts) })
	if !exact {
		i--
	}
	if i >= 0 && l.keys[i].open {
		i--
	}
	if i -= back; i <= 0 {
		return video.NoSeek // from the beginning
	}
	return l.keys[i].pts
}
