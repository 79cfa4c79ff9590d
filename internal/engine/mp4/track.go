package mp4

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	mp4ff "github.com/Eyevinn/mp4ff/mp4"
)

// Track describes the one track of a chunk file.
type Track struct {
	Codec         string // sample entry: "avc1" for H.264, "hvc1" for HEVC, "av01" for AV1, "mp4a" for AAC
	Width, Height int    // of the video
	Timescale     int    // ticks a second
	Frames        int    // of video, or packets of audio
	KeyFrames     int
	FirstPTS      int64         // the earliest presentation time on the timeline of the video, in ticks
	Duration      time.Duration // from the first frame to the end of the last
	Size          int64         // bytes of media
}

// Inspect reads the tables of a chunk file and checks them against each other
// and against the file's size. It does not look at the media itself. A file
// without frames is ErrNoFrames, one with tables of more than most bytes
// ErrTooLarge; see TablesFor.
func Inspect(p Input, most int64) (Track, error) {
	t, err := readSingle(p, most)
	if err != nil {
		return Track{}, err
	}
	first, end := t.playtime()
	info := Track{
		Codec:     t.entries[0].Type(),
		Timescale: int(t.scale),
		Frames:    len(t.sizes),
		KeyFrames: len(t.sizes),
		FirstPTS:  first,
		Duration:  ticks(end-first, t.scale),
		Size:      t.size(),
	}
	if t.sync != nil {
		info.KeyFrames = len(t.sync)
	}
	info.Width, info.Height = frameSize(t.entries[0])
	return info, nil
}

// track is what the sample tables of a file say about one track.
type track struct {
	scale         uint32 // ticks a second
	width, height mp4ff.Fixed32
	entries       []mp4ff.Box // decoder configurations; never empty
	edit          edit

	// One value for each sample, in decode order.
	sizes []uint32
	pts   []int64 // on the timeline of the video

	stts  *mp4ff.SttsBox
	sync  []uint32 // numbers, from 1, of the sync samples; nil means all
	spans []span   // where the samples are, in decode order
}

// span is a range of samples that are contiguous in a file.
type span struct {
	offset, size int64
	samples      int
	entry        int // index in track.entries
}

// readSingle reads the track of a file that must have one.
func readSingle(p Input, most int64) (*track, error) {
	boxes, err := p.topBoxes()
	if err != nil {
		return nil, err
	}
	moov, err := p.readMoov(boxes, most)
	if err != nil {
		return nil, err
	}
	switch len(moov.Traks) {
	case 0:
		return nil, ErrNoFrames
	case 1:
		return readTrack(moov, moov.Trak, p.Size)
	}
	return nil, fmt.Errorf("the file has %d tracks instead of one", len(moov.Traks))
}

// readTrack checks the tables of one track of a file of fileSize bytes.
func readTrack(moov *mp4ff.MoovBox, trak *mp4ff.TrakBox, fileSize int64) (*track, error) {
	if !complete(trak) {
		return nil, errors.New("the track lacks a table")
	}
	stbl := trak.Mdia.Minf.Stbl
	t := &track{
		scale:   trak.Mdia.Mdhd.Timescale,
		width:   trak.Tkhd.Width,
		height:  trak.Tkhd.Height,
		entries: stbl.Stsd.Children,
		stts:    stbl.Stts,
	}
	if t.scale == 0 {
		return nil, errors.New("the track has no time scale")
	}
	if err := t.checkEntries(); err != nil {
		return nil, err
	}
	if err := t.readSizes(stbl.Stsz, fileSize); err != nil {
		return nil, err
	}
	if err := t.readSpans(stbl, fileSize); err != nil {
		return nil, err
	}
	if err := t.readSync(stbl.Stss); err != nil {
		return nil, err
	}
	if err := t.readTimes(stbl.Ctts); err != nil {
		return nil, err
	}
	return t, t.readEdit(trak.Edts, moov.Mvhd.Timescale)
}

// complete reports whether a track has every required table.
func complete(trak *mp4ff.TrakBox) bool {
	if trak.Tkhd == nil || trak.Mdia == nil || trak.Mdia.Mdhd == nil || trak.Mdia.Minf == nil {
		return false
	}
	s := trak.Mdia.Minf.Stbl
	return s != nil && s.Stsd != nil && len(s.Stsd.Children) > 0 && s.Stts != nil && s.Stsc != nil &&
		s.Stsz != nil && (s.Stco != nil || s.Co64 != nil)
}

// checkEntries checks that the track has a decoder configuration, and that it
// can be written again: mp4ff reads some malformed ones whose size it does not
// know.
func (t *track) checkEntries() error {
	for _, e := range t.entries {
		if !hasSetup(e) {
			return fmt.Errorf("%q has no decoder configuration", e.Type())
		}
		raw, err := encoded(e)
		if err != nil {
			return err
		}
		if uint64(len(raw)) != e.Size() {
			return fmt.Errorf("the decoder configuration in %q is malformed", e.Type())
		}
	}
	return nil
}

// hasSetup reports whether an entry has the configuration that its codec's
// decoder needs.
func hasSetup(entry mp4ff.Box) bool {
	switch e := entry.(type) {
	case *mp4ff.AudioSampleEntryBox:
		return e.Esds != nil
	case *mp4ff.VisualSampleEntryBox:
		switch e.Type() {
		case "avc1":
			return e.AvcC != nil
		case "hvc1":
			return e.HvcC != nil
		case "av01":
			return e.Av1C != nil
		}
	}
	return false
}

// playtime returns when the first frame starts and the last one ends. The table
// gives the last duration by decode order, which is the only one there is.
func (t *track) playtime() (first, end int64) {
	return slices.Min(t.pts), slices.Max(t.pts) + t.lastDuration()
}

// lastDuration returns the duration of the last sample, which has no successor
// to derive it from. If it is zero, the frame would never be shown, so it gets
// the duration of the sample before.
func (t *track) lastDuration() int64 {
	for _, d := range slices.Backward(t.stts.SampleTimeDelta) {
		if d > 0 {
			return int64(d)
		}
	}
	return 1
}

func (t *track) size() int64 {
	var sum int64
	for _, s := range t.spans {
		sum += s.size
	}
	return sum
}

func (t *track) isVideo() bool { return isVideoEntry(t.entries[0]) }

func isVideoEntry(entry mp4ff.Box) bool {
	_, ok := entry.(*mp4ff.VisualSampleEntryBox)
	return ok
}

func frameSize(entry mp4ff.Box) (width, height int) {
	if v, ok := entry.(*mp4ff.VisualSampleEntryBox); ok {
		return int(v.Width), int(v.Height)
	}
	return 0, 0
}

// transferOf returns how the numbers of a video entry stand for light, as ISO/IEC 23091-2 numbers it, or 0.
func transferOf(entry mp4ff.Box) int {
	v, ok := entry.(*mp4ff.VisualSampleEntryBox)
	if !ok {
		return 0
	}
	for _, b := range v.Children {
		if c, is := b.(*mp4ff.ColrBox); is && c.ColorType == "nclx" {
			return int(c.TransferCharacteristics)
		}
	}
	return 0
}

// encoded returns the bytes of a box.
func encoded(b mp4ff.Box) ([]byte, error) {
	var buf bytes.Buffer
	if err := b.Encode(&buf); err != nil {
		return nil, fmt.Errorf("encode box %q: %w", b.Type(), err)
	}
	return buf.Bytes(), nil
}
