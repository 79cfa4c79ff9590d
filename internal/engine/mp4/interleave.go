package mp4

import (
	"math"
	"time"
)

// Runs of one track last about this long in the file: short enough that a player
// reading from the start always has both tracks, long enough that the tables stay
// small. A run of video ends early at a keyframe, where players seek to.
const (
	longRun  = time.Second
	shortRun = time.Second / 2
)

// run is a range of samples of one track that are stored together; MP4 calls it
// a chunk.
type run struct {
	samples int
	entry   int
	size    int64
	start   time.Duration // when its first sample is decoded
	offset  int64         // from the start of the media
}

// runs cuts a track into runs.
func (r *trackBuilder) runs() []run {
	var out []run
	long, short := inTicks(longRun, r.scale), inTicks(shortRun, r.scale)
	sync, left, source := 0, 0, -1
	var started int64 // tick at which the current run began
	for i, size := range r.sizes {
		newEntry := false
		if left == 0 {
			source++
			left = r.sources[source].samples
			newEntry = len(out) == 0 || out[len(out)-1].entry != r.sources[source].entry
		}
		left--
		isSync := sync < len(r.sync) && r.sync[sync] == uint32(i+1)
		if isSync {
			sync++
		}
		age := r.times[i] - started
		if newEntry || age >= long || isSync && age >= short {
			out = append(out, run{entry: r.sources[source].entry, start: signedTicks(r.times[i], r.scale)})
			started = r.times[i]
		}
		last := &out[len(out)-1]
		last.samples++
		last.size += int64(size)
	}
	return out
}

// interleave gives every run of the tracks its place in the media and returns
// the order in which they are written, as indexes of tracks, and the total size.
func interleave(tracks [][]run) (order []int, size int64) {
	next := make([]int, len(tracks))
	for {
		best, at := -1, time.Duration(math.MaxInt64)
		for t, runs := range tracks {
			if next[t] < len(runs) && (best < 0 || runs[next[t]].start < at) {
				best, at = t, runs[next[t]].start
			}
		}
		if best < 0 {
			return order, size
		}
		r := &tracks[best][next[best]]
		r.offset = size
		size += r.size
		next[best]++
		order = append(order, best)
	}
}

func inTicks(d time.Duration, scale uint32) int64 {
	return int64(d) * int64(scale) / int64(time.Second)
}

// signedTicks is ticks for times that may be before zero.
func signedTicks(n int64, scale uint32) time.Duration {
	if n < 0 {
		return -ticks(-n, scale)
	}
	return ticks(n, scale)
}
