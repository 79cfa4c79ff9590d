package mp4

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	mp4ff "github.com/Eyevinn/mp4ff/mp4"
)

// Part is a part of a segment: bytes that were generated for it, or a range of
// the rendition file.
type Part struct {
	Bytes []byte
	Range
}

// Size returns how many bytes of the segment the part is.
func (p Part) Size() int64 { return int64(len(p.Bytes)) + p.To - p.From }

// Segment returns the parts of the n-th segment, counted from 0.
func (s *Segments) Segment(n int) ([]Part, error) {
	if n < 0 || n >= len(s.list) {
		return nil, fmt.Errorf("the track has %d segments, and no %d", len(s.list), n)
	}
	var parts []Part
	for f := range s.fragments(n) {
		head, err := s.head(uint32(n+1), f)
		if err != nil {
			return nil, fmt.Errorf("make the head of segment %d: %w", n, err)
		}
		parts = append(parts, Part{Bytes: head})
		for _, r := range f.ranges {
			parts = append(parts, Part{Range: r})
		}
	}
	return parts, nil
}

// KeyFrame returns the parts of a segment that holds nothing but the first frame
// of the n-th, for players that show stills while they seek.
func (s *Segments) KeyFrame(n int) ([]Part, error) {
	if !s.video || n < 0 || n >= len(s.list) {
		return nil, fmt.Errorf("the track has %d segments, and no frame for %d", len(s.list), n)
	}
	f := s.keyframe(n)
	head, err := s.head(uint32(n+1), f)
	if err != nil {
		return nil, fmt.Errorf("make the head of the first frame of segment %d: %w", n, err)
	}
	return []Part{{Bytes: head}, {Range: f.ranges[0]}}, nil
}

// What a trun box says of each sample. Every sample of audio can be decoded alone
// and is shown when it is decoded.
const (
	audioRun = mp4ff.TrunDataOffsetPresentFlag | mp4ff.TrunSampleDurationPresentFlag | mp4ff.TrunSampleSizePresentFlag
	videoRun = audioRun | mp4ff.TrunSampleFlagsPresentFlag | mp4ff.TrunSampleCompositionTimeOffsetPresentFlag

	audioEntry = 8 // bytes a sample
	videoEntry = 16
)

// head returns the boxes before the media of a fragment.
func (s *Segments) head(number uint32, f fragment) ([]byte, error) {
	moof := s.emptyMoof(number, f)
	run := moof.Traf.Trun
	run.Samples = make([]mp4ff.Sample, 0, f.samples)
	sync, _ := slices.BinarySearch(s.sync, uint32(f.sample+1))
	for i, x := range s.samples[f.sample : f.sample+f.samples] {
		flags := mp4ff.NonSyncSampleFlags
		if s.sync == nil || sync < len(s.sync) && s.sync[sync] == uint32(f.sample+i+1) {
			flags = mp4ff.SyncSampleFlags
			sync++
		}
		run.Samples = append(run.Samples, mp4ff.Sample{Flags: flags, Dur: x.duration, Size: x.size, CompositionTimeOffset: x.offset})
	}
	if f.shown > 0 {
		run.Samples[0].Dur = uint32(min(f.shown, math.MaxUint32))
	}
	setup := s.setup(f)
	run.Samples[0].Size += uint32(len(setup))
	media := f.media + int64(len(setup))
	run.DataOffset = int32(int64(moof.Size()) + mdatHeader(media))
	var b bytes.Buffer
	if err := moof.Encode(&b); err != nil {
		return nil, err
	}
	if err := mp4ff.EncodeHeaderWithSize("mdat", uint64(mdatHeader(media)+media), mdatHeader(media) == largeBoxHeader, &b); err != nil {
		return nil, err
	}
	b.Write(setup)
	return b.Bytes(), nil
}

// setup returns what comes before the first sample of a fragment, in a file
// whose chunks were not encoded alike. Fragments could refer to one of several
// sample entries, but not every player follows; all of them read parameter sets
// within the samples.
func (s *Segments) setup(f fragment) []byte {
	if s.setups == nil || f.sample < s.changed {
		return nil
	}
	return s.setups[f.entry]
}

// headSize returns the size of what head returns.
func (s *Segments) headSize(f fragment) int64 {
	entry := int64(audioEntry)
	if s.video {
		entry = videoEntry
	}
	setup := int64(len(s.setup(f)))
	return int64(s.emptyMoof(0, f).Size()) + entry*int64(f.samples) + mdatHeader(setup+f.media) + setup
}

func mdatHeader(media int64) int64 {
	if media+boxHeader > math.MaxUint32 {
		return largeBoxHeader
	}
	return boxHeader
}

// emptyMoof describes a fragment without its samples. The delay before the first
// sample of the video is added to the times, because browsers ignore an edit
// list with a delay.
func (s *Segments) emptyMoof(number uint32, f fragment) *mp4ff.MoofBox {
	tfhd := mp4ff.CreateTfhd(s.id)
	run := mp4ff.CreateTrun(0)
	run.Flags = videoRun
	if !s.video {
		run.Flags = audioRun
		tfhd.Flags |= mp4ff.TfhdDefaultSampleFlagsPresentFlag
		tfhd.DefaultSampleFlags = mp4ff.SyncSampleFlags
	}
	tfdt := &mp4ff.TfdtBox{Version: 1}
	tfdt.SetBaseMediaDecodeTime(uint64(f.decoded + s.delay))

	traf, moof := &mp4ff.TrafBox{}, &mp4ff.MoofBox{}
	for _, b := range []mp4ff.Box{tfhd, tfdt, run} {
		_ = traf.AddChild(b) // fails for boxes of encryption only
	}
	_ = moof.AddChild(mp4ff.CreateMfhd(number))
	_ = moof.AddChild(traf)
	return moof
}

// buildInit makes the init segment: the file's own description of the track,
// including its edit list and its first sample entry, without samples. A
// duration of zero in the edit list means everything that follows.
func (s *Segments) buildInit(t *track, movieScale uint32) ([]byte, error) {
	r := &trackBuilder{scale: t.scale, width: t.width, height: t.height, entries: t.entries[:1],
		edit: edit{mediaTime: t.edit.mediaTime}, stts: &mp4ff.SttsBox{}}
	trak, err := r.buildTrak(s.id, movieScale, nil, false)
	if err != nil {
		return nil, err
	}
	mvhd := mp4ff.CreateMvhd()
	mvhd.Timescale, mvhd.NextTrackID = movieScale, s.id+1
	mvex := mp4ff.NewMvexBox()
	mvex.AddChild(mp4ff.CreateTrex(s.id))
	moov := mp4ff.NewMoovBox()
	moov.AddChild(mvhd)
	moov.AddChild(trak)
	moov.AddChild(mvex)

	var b bytes.Buffer
	if err := mp4ff.NewFtyp("iso6", 0x200, []string{"iso6", "mp41"}).Encode(&b); err != nil {
		return nil, err
	}
	err = moov.Encode(&b)
	return b.Bytes(), err
}
