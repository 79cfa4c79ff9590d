package probe

import (
	"cmp"
	"slices"

	"github.com/spool-video/spool/internal/video"
)

// Layout is where the packets of a stream are in the file. It keeps runs of
// packets rather than each one: a video has millions.
type Layout struct {
	grain   int64 // resolution of the positions: about the size of a run
	noted   *noted
	Packets int
	runs    []run // in order of decoding
	Unknown bool  // a packet has no position, or they are scattered all over the file
}

// run is a range of the file that holds consecutive packets.
type run struct {
	video.Span
	first int // its first packet, counted in decode order
}

// noted counts what is kept in memory of the streams of a file. The limits are the file's: a hostile one has many
// streams.
type noted struct{ keys, runs int }

const (
	// maxRuns is more than twice as many as 50 GiB of video have.
	maxRuns = 1 << 19
	// farAway is a position that no file has; beyond it sums would overflow.
	farAway = 1 << 60
)

// add notes the position of the next packet.
func (l *Layout) add(pos, size int64) {
	n := l.Packets
	l.Packets++
	if l.Unknown {
		return
	}
	if pos < 0 || size < 0 || pos > farAway || size > farAway {
		l.forget()
		return
	}
	if len(l.runs) > 0 {
		r := &l.runs[len(l.runs)-1]
		if pos >= r.From && pos-r.To < l.grain && r.To-r.From < l.grain {
			r.To = max(r.To, pos+size)
			return
		}
	}
	if l.noted.runs == maxRuns {
		l.forget()
		return
	}
	l.runs = append(l.runs, run{video.Span{From: pos, To: pos + size}, n})
	l.noted.runs++
}

// forget gives up knowing where the packets are.
func (l *Layout) forget() {
	l.noted.runs -= len(l.runs)
	l.Unknown, l.runs = true, nil
}

// Spans returns where the packets from number first up to number end are.
func (l *Layout) Spans(first, end int) []video.Span {
	i, exact := slices.BinarySearchFunc(l.runs, first, func(r run, n int) int { return cmp.Compare(r.first, n) })
	if !exact {
		i--
	}
	var out []video.Span
	for _, r := range l.runs[max(i, 0):] {
		if r.first >= end {
			break
		}
		out = append(out, r.Span)
	}
	return out
}

// readAhead is how many packets ffmpeg may read beyond the last one that it
// needs: what decoder, filters and queues hold until the first frame comes out
// that is too late. With ffmpeg 5.1, 8 were enough for one thread and 16 for
// eight; later versions have longer queues.
const readAhead = 64

// PacketsFor returns which packets, counted in decode order, ffmpeg reads to
// show what is between two times when it seeks to a keyframe: from first up to
// end. back asks for that many more keyframes before them.
func (l *Timeline) PacketsFor(seek, until int64, back int) (first, end int) {
	byTime := func(k Keyframe, pts int64) int { return cmp.Compare(k.PTS, pts) }
	if i, found := slices.BinarySearchFunc(l.Keys, seek, byTime); found && i >= back {
		first = int(l.Keys[i-back].packet)
	}
	end = l.Layout.Packets
	if i, _ := slices.BinarySearchFunc(l.Keys, until, byTime); i < len(l.Keys) {
		end = min(end, int(l.Keys[i].packet)+l.leading+readAhead)
	}
	return first, end
}
