package mp4

import (
	"fmt"
	"math"

	mp4ff "github.com/Eyevinn/mp4ff/mp4"
)

// minMovieScale keeps the rounding of the audio's delay to the movie's time
// scale below a tenth of a millisecond.
const minMovieScale = 10_000

// movieScale returns the time scale of the edit lists: a multiple of the video's
// time scale, so that its times are exact.
func movieScale(video uint32) uint32 {
	if video >= minMovieScale {
		return video
	}
	return video * ((minMovieScale + video - 1) / video)
}

// buildMoov makes the movie box for tracks laid out as runs. Chunk offsets are
// left at zero.
func buildMoov(tracks []*trackBuilder, scale uint32, runs [][]run, wide bool) (*mp4ff.MoovBox, error) {
	mvhd := mp4ff.CreateMvhd()
	mvhd.Timescale = movieScale(scale)
	mvhd.NextTrackID = uint32(len(tracks) + 1)
	moov := mp4ff.NewMoovBox()
	moov.AddChild(mvhd)
	for i, r := range tracks {
		trak, err := r.buildTrak(uint32(i+1), mvhd.Timescale, runs[i], wide)
		if err != nil {
			return nil, fmt.Errorf("build track %d: %w", i+1, err)
		}
		mvhd.Duration = max(mvhd.Duration, trak.Tkhd.Duration)
		moov.AddChild(trak)
	}
	mvhd.Version = version(mvhd.Duration)
	return moov, nil
}

// version returns the version of a header box with this duration: 1 has 64 bits
// for it. All bits set would mean that the duration is unknown.
func version(duration uint64) byte {
	if duration >= math.MaxUint32 {
		return 1
	}
	return 0
}

func (r *trackBuilder) buildTrak(id, movieScale uint32, runs []run, wide bool) (*mp4ff.TrakBox, error) {
	elst, duration, err := r.edit.build(r.scale, movieScale)
	if err != nil {
		return nil, err
	}
	tkhd := mp4ff.CreateTkhd()
	tkhd.TrackID, tkhd.Duration, tkhd.Version = id, duration, version(duration)
	tkhd.Width, tkhd.Height = r.width, r.height
	if !r.isVideo() {
		tkhd.Volume = 0x0100
	}
	stbl, err := r.buildTables(runs, wide)
	if err != nil {
		return nil, err
	}
	edts := &mp4ff.EdtsBox{}
	edts.AddChild(elst)
	trak := mp4ff.NewTrakBox()
	trak.AddChild(tkhd)
	trak.AddChild(edts)
	trak.AddChild(r.buildMedia(stbl))
	return trak, nil
}

func (r *trackBuilder) buildMedia(stbl *mp4ff.StblBox) *mp4ff.MdiaBox {
	mdhd := &mp4ff.MdhdBox{Timescale: r.scale}
	for i, n := range r.stts.SampleCount {
		mdhd.Duration += uint64(n) * uint64(r.stts.SampleTimeDelta[i])
	}
	mdhd.Version = version(mdhd.Duration)
	mdhd.SetLanguage("und")

	hdlr := &mp4ff.HdlrBox{HandlerType: "soun", Name: "SoundHandler"}
	minf := mp4ff.NewMinfBox()
	if r.isVideo() {
		hdlr = &mp4ff.HdlrBox{HandlerType: "vide", Name: "VideoHandler"}
		minf.AddChild(mp4ff.CreateVmhd())
	} else {
		minf.AddChild(mp4ff.CreateSmhd())
	}
	dinf := &mp4ff.DinfBox{}
	dinf.AddChild(mp4ff.CreateDref())
	minf.AddChild(dinf)
	minf.AddChild(stbl)

	mdia := mp4ff.NewMdiaBox()
	mdia.AddChild(mdhd)
	mdia.AddChild(hdlr)
	mdia.AddChild(minf)
	return mdia
}

func (r *trackBuilder) buildTables(runs []run, wide bool) (*mp4ff.StblBox, error) {
	stbl, stsd, stsc := mp4ff.NewStblBox(), mp4ff.NewStsdBox(), &mp4ff.StscBox{}
	for _, e := range r.entries {
		stsd.AddChild(e)
	}
	for i, c := range runs {
		if i > 0 && c.samples == runs[i-1].samples && c.entry == runs[i-1].entry {
			continue
		}
		if err := stsc.AddEntry(uint32(i+1), uint32(c.samples), uint32(c.entry+1)); err != nil {
			return nil, fmt.Errorf("place the samples in chunks: %w", err)
		}
	}
	stbl.AddChild(stsd)
	stbl.AddChild(r.stts)
	if r.sync != nil {
		stbl.AddChild(&mp4ff.StssBox{SampleNumber: r.sync})
	}
	if r.ctts != nil {
		stbl.AddChild(r.ctts)
	}
	stbl.AddChild(stsc)
	stbl.AddChild(&mp4ff.StszBox{SampleNumber: uint32(len(r.sizes)), SampleSize: r.sizes})
	if wide {
		stbl.AddChild(&mp4ff.Co64Box{ChunkOffset: make([]uint64, len(runs))})
	} else {
		stbl.AddChild(&mp4ff.StcoBox{ChunkOffset: make([]uint32, len(runs))})
	}
	return stbl, nil
}

// setOffsets writes where the runs of a track are in a file whose media starts
// at base.
func setOffsets(stbl *mp4ff.StblBox, runs []run, base int64) {
	for i, r := range runs {
		if stbl.Co64 != nil {
			stbl.Co64.ChunkOffset[i] = uint64(base + r.offset)
		} else {
			stbl.Stco.ChunkOffset[i] = uint32(base + r.offset)
		}
	}
}

// build makes the edit list and returns how long it plays in the movie's time
// scale.
func (e edit) build(scale, movieScale uint32) (*mp4ff.ElstBox, uint64, error) {
	delay, ok := rescale(uint64(e.delay), movieScale, scale)
	length, fits := rescaleUp(uint64(e.length), movieScale, scale)
	if !ok || !fits {
		return nil, 0, fmt.Errorf("a delay of %d and %d ticks of %d a second cannot be written", e.delay, e.length, scale)
	}
	elst := &mp4ff.ElstBox{}
	if delay > 0 {
		elst.Entries = append(elst.Entries, mp4ff.ElstEntry{SegmentDuration: uint64(delay), MediaTime: -1, MediaRateInteger: 1})
	}
	elst.Entries = append(elst.Entries, mp4ff.ElstEntry{SegmentDuration: uint64(length), MediaTime: e.mediaTime, MediaRateInteger: 1})
	if max(delay, length) > math.MaxUint32 || e.mediaTime > math.MaxInt32 {
		elst.Version = 1
	}
	return elst, uint64(delay + length), nil
}
