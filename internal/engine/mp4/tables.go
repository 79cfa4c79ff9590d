package mp4

import (
	"fmt"

	mp4ff "github.com/Eyevinn/mp4ff/mp4"
)

// readSizes takes the size of every sample from stsz.
func (t *track) readSizes(stsz *mp4ff.StszBox, fileSize int64) error {
	n := int64(stsz.SampleNumber)
	switch {
	case n == 0:
		return ErrNoFrames
	case n > maxSamples:
		return fmt.Errorf("the track has %d samples, more than %d", n, maxSamples)
	case stsz.SampleUniformSize == 0:
		t.sizes = stsz.SampleSize
		return nil
	case n*int64(stsz.SampleUniformSize) > fileSize:
		return fmt.Errorf("%d samples of %d bytes do not fit into the file", n, stsz.SampleUniformSize)
	}
	t.sizes = make([]uint32, n)
	for i := range t.sizes {
		t.sizes[i] = stsz.SampleUniformSize
	}
	return nil
}

// readSpans finds where the samples are. Adjacent chunks become one span, so a
// file that ffmpeg wrote has a single one.
func (t *track) readSpans(stbl *mp4ff.StblBox, fileSize int64) error {
	chunks := chunkOffsets(stbl)
	next := 0 // sample
	for i, e := range stbl.Stsc.Entries {
		first, end := int64(e.FirstChunk), int64(chunks.len())+1
		if i+1 < len(stbl.Stsc.Entries) {
			end = int64(stbl.Stsc.Entries[i+1].FirstChunk)
		}
		entry := int64(stbl.Stsc.GetSampleDescriptionID(i+1)) - 1
		if (i == 0 && first != 1) || first >= end || end > int64(chunks.len())+1 || entry >= int64(len(t.entries)) {
			return fmt.Errorf("entry %d of the sample-to-chunk table is malformed", i+1)
		}
		for c := first; c < end; c++ {
			n := int(e.SamplesPerChunk)
			if n == 0 || n > len(t.sizes)-next {
				return fmt.Errorf("chunk %d has %d samples, %d are left", c, n, len(t.sizes)-next)
			}
			if err := t.addSpan(chunks.at(int(c-1)), t.sizes[next:next+n], int(entry), fileSize); err != nil {
				return fmt.Errorf("chunk %d: %w", c, err)
			}
			next += n
		}
	}
	if next != len(t.sizes) {
		return fmt.Errorf("%d of %d samples are in no chunk", len(t.sizes)-next, len(t.sizes))
	}
	return nil
}

func (t *track) addSpan(offset uint64, sizes []uint32, entry int, fileSize int64) error {
	size := total(sizes)
	if offset > uint64(fileSize) || size > fileSize-int64(offset) {
		return fmt.Errorf("%d bytes at %d are beyond the end of the file at %d", size, offset, fileSize)
	}
	if n := len(t.spans); n > 0 {
		if last := &t.spans[n-1]; last.offset+last.size == int64(offset) && last.entry == entry {
			last.size += size
			last.samples += len(sizes)
			return nil
		}
	}
	t.spans = append(t.spans, span{offset: int64(offset), size: size, samples: len(sizes), entry: entry})
	return nil
}

// readSync takes the numbers of the sync samples; no table means that every
// sample is one.
func (t *track) readSync(stss *mp4ff.StssBox) error {
	if stss == nil {
		return nil
	}
	var last uint32
	for _, n := range stss.SampleNumber {
		if n <= last || int64(n) > int64(len(t.sizes)) {
			return fmt.Errorf("the sync sample table names sample %d after %d", n, last)
		}
		last = n
	}
	t.sync = append([]uint32{}, stss.SampleNumber...)
	return nil
}

// readTimes computes when each sample is shown, on the track's own timeline.
func (t *track) readTimes(ctts *mp4ff.CttsBox) error {
	var n uint64
	for _, c := range t.stts.SampleCount {
		n += uint64(c)
	}
	if n != uint64(len(t.sizes)) {
		return fmt.Errorf("the table of decode times covers %d of %d samples", n, len(t.sizes))
	}
	t.pts = make([]int64, 0, len(t.sizes))
	var dts int64
	for i, count := range t.stts.SampleCount {
		for range count {
			t.pts = append(t.pts, dts)
			dts += int64(t.stts.SampleTimeDelta[i])
		}
	}
	if ctts == nil {
		return nil
	}
	return t.addOffsets(ctts)
}

// addOffsets adds the composition offsets to t.pts.
func (t *track) addOffsets(ctts *mp4ff.CttsBox) error {
	rest := t.pts
	for i, offset := range ctts.SampleOffset {
		count := int64(ctts.SampleCount(i))
		if count > int64(len(rest)) {
			return fmt.Errorf("the table of composition offsets covers more than %d samples", len(t.pts))
		}
		for k := range rest[:count] {
			rest[k] += int64(offset)
		}
		rest = rest[count:]
	}
	if len(rest) > 0 {
		return fmt.Errorf("the table of composition offsets lacks %d of %d samples", len(rest), len(t.pts))
	}
	return nil
}

// offsets reads a table of chunk offsets of either width.
type offsets struct {
	narrow []uint32
	wide   []uint64
}

func chunkOffsets(stbl *mp4ff.StblBox) offsets {
	if stbl.Co64 != nil {
		return offsets{wide: stbl.Co64.ChunkOffset}
	}
	return offsets{narrow: stbl.Stco.ChunkOffset}
}

func (o offsets) len() int { return len(o.narrow) + len(o.wide) }

func (o offsets) at(i int) uint64 {
	if o.wide != nil {
		return o.wide[i]
	}
	return uint64(o.narrow[i])
}

func total(sizes []uint32) int64 {
	var sum int64
	for _, s := range sizes {
		sum += int64(s)
	}
	return sum
}
