package probe

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/spool-video/spool/internal/video"
)

// Timeline holds when the packets of one stream are shown, in the stream's own
// time base.
type Timeline struct {
	Packets   int
	Bytes     int64
	First     int64 // the earliest presentation time
	End       int64 // when the last packet ends
	Played    int64 // the sum of the packets' durations
	encrypted bool
	clock     clock
	noted     *noted // of all streams

	// For audio only.
	Gaps []Gap

	// For video streams only.
	Shown        []int64    // the time of each frame; in decode order until Sort
	LeadIn       []int64    // likewise, of the frames before the first keyframe
	Keys         []Keyframe // in decode order until Sort
	Layout       Layout     // where the packets are in the file
	leading      int        // how many packets after a keyframe may be shown before it
	Tangled      bool       // some packets are shown before the keyframe before the last one
	Discarded    int        // how many packets an edit list removes
	Untimed      bool       // some packets have no presentation time, or the clock jumps
	Last         int64      // the latest presentation time
	LastDuration int64      // how long that frame lasts, or 0
	Doubled      int        // how many packets have the time of another one; known after Sort
	part         *cut       // nil: all frames are there; see Cut
}

// Keyframe is a packet where decoding can begin.
type Keyframe struct {
	PTS int64
	// Open says that frames which are shown before it follow it in the file:
	// they need the previous keyframe (an open GOP).
	Open bool
	// Border says that a chunk can begin here: it is shown itself, and
	// everything that precedes it in the file is shown earlier.
	Border bool
	packet int32 // its number among the packets of the stream
	Bytes  int64 // of it and all packets up to the next one
}

// Gap is a time without audio.
type Gap struct{ From, To int64 }

const (
	// A gap is noted if it is longer than this many packets; its length in
	// seconds is known later, with the time base.
	gapPackets = 200
	maxGaps    = 100
)

// NewTimeline returns an empty timeline.
func NewTimeline() *Timeline { return newTimeline(0, new(noted)) }

// newTimeline returns an empty timeline of a file of which this is noted.
func newTimeline(grain int64, n *noted) *Timeline {
	return &Timeline{First: math.MaxInt64, End: math.MinInt64, Last: math.MinInt64, clock: newClock(), noted: n, Layout: Layout{grain: grain, noted: n}}
}

// Jumps returns where the clock of the stream may have been reset.
func (l *Timeline) Jumps() []Jump { return l.clock.jumps }

// ClockEnd returns when the stream ends, by its clock after the last jump.
func (l *Timeline) ClockEnd() int64 { return l.clock.end }

// Add adds the next packet of the file.
func (l *Timeline) Add(p Packet) {
	l.Packets++
	l.Bytes += p.Size
	for _, s := range p.SideData {
		l.encrypted = l.encrypted || s.Type == "Encryption info"
	}
	pts, guessed := l.clock.read(p, len(l.Shown))
	l.Untimed = l.Untimed || guessed
	discarded := strings.Contains(p.Flags, "D")
	if p.Type == "video" {
		l.Layout.add(p.Position, p.Size)
		l.addFrame(pts, p.Duration, strings.Contains(p.Flags, "K"), discarded)
		if len(l.Keys) > 0 {
			l.Keys[len(l.Keys)-1].Bytes += p.Size
		}
	}
	if discarded {
		l.Discarded++
		return // an edit list removes it
	}
	if l.End != math.MinInt64 && p.Duration > 0 && pts-l.End > gapPackets*p.Duration && len(l.Gaps) < maxGaps {
		l.Gaps = append(l.Gaps, Gap{l.End, pts})
	}
	l.Played += p.Duration
	l.First = min(l.First, pts)
	l.End = max(l.End, pts+p.Duration)
}

func (l *Timeline) addFrame(pts, duration int64, key, discarded bool) {
	switch {
	case key && l.recordsKey():
		l.noted.keys++
		l.Keys = append(l.Keys, Keyframe{PTS: pts, Border: !discarded && pts > l.Last, packet: int32(l.Layout.Packets - 1)})
	case len(l.Keys) > 0 && pts < l.Keys[len(l.Keys)-1].PTS:
		l.recordLeadingFrame(pts)
	}
	if discarded {
		return // decoded, because others need it, but not shown
	}
	if len(l.Keys) == 0 {
		l.LeadIn = append(l.LeadIn, pts)
	} else {
		l.Shown = append(l.Shown, pts)
	}
	if pts >= l.Last {
		l.Last, l.LastDuration = pts, duration
	}
}

// Of a file with very many keyframes, as those in which each frame is one, the
// later ones are noted at a distance: there are enough of them to cut and to seek
// at, and millions would take more memory than everything else.
const (
	denseKeys = 500_000
	keyStep   = 64 // frames
)

// recordsKey reports whether a keyframe that was just read is recorded.
func (l *Timeline) recordsKey() bool {
	n := len(l.Keys)
	return n == 0 || l.noted.keys < denseKeys || l.Layout.Packets-1-int(l.Keys[n-1].packet) >= keyStep
}

// recordLeadingFrame notes that the packet just added is shown before the keyframe that it
// follows.
func (l *Timeline) recordLeadingFrame(pts int64) {
	k := &l.Keys[len(l.Keys)-1]
	k.Open = true
	l.leading = max(l.leading, l.Layout.Packets-int(k.packet))
	l.Tangled = l.Tangled || len(l.Keys) > 1 && pts < l.Keys[len(l.Keys)-2].PTS
}

// Shift moves the times of all frames after each jump of the clock. In a video
// whose clock jumps, seeking is not possible.
func (l *Timeline) Shift(jumps []Jump, shifts []int64) {
	for i, j := range jumps {
		end := len(l.Shown)
		if i+1 < len(jumps) {
			end = jumps[i+1].Frame
		}
		for k := j.Frame; k < end; k++ {
			l.Shown[k] += shifts[i]
		}
	}
	l.Untimed = l.Untimed || len(jumps) > 0
}

// Sort puts frames and keyframes into presentation order. The video begins at
// its first keyframe, because nothing before it can be decoded, and has one
// frame for each time, even where the file has several packets.
func (l *Timeline) Sort() {
	if len(l.Shown) == 0 {
		l.Shown = l.LeadIn // no keyframe at all: the decoder may know more
	}
	slices.Sort(l.Shown)
	all := len(l.Shown)
	l.Shown = slices.Compact(l.Shown)
	l.Doubled += all - len(l.Shown)
	l.First, l.Last = l.Shown[0], l.Shown[len(l.Shown)-1]
	slices.SortStableFunc(l.Keys, func(a, b Keyframe) int { return cmp.Compare(a.PTS, b.PTS) })
}

// Span returns the seconds from the first frame to the beginning of the last. It
// uses floating point because hostile times would overflow.
func (l *Timeline) Span(tb video.Ratio) float64 {
	return (float64(l.Last) - float64(l.First)) * float64(tb.Num) / float64(tb.Den)
}

// ShownAt returns the frame that is on the screen at a time: the latest one that
// is not after it.
func (l *Timeline) ShownAt(pts int64) int64 {
	return l.Shown[max(l.CountUpTo(pts)-1, 0)]
}

// CountUpTo returns how many frames are shown at or before a time.
func (l *Timeline) CountUpTo(pts int64) int {
	i, exact := slices.BinarySearch(l.Shown, pts)
	if exact {
		i++
	}
	return i
}

// SeekTo returns the keyframe from which everything shown at pts and later can
// be decoded; with back, that many keyframes earlier.
func (l *Timeline) SeekTo(pts int64, back int) int64 {
	i, exact := slices.BinarySearchFunc(l.Keys, pts, func(k Keyframe, pts int64) int { return cmp.Compare(k.PTS, pts) })
	if !exact {
		i--
	}
	if i >= 0 && l.Keys[i].Open {
		i--
	}
	if i -= back; i <= 0 {
		return video.NoSeek // from the beginning
	}
	return l.Keys[i].PTS
}
