package mp4

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	mp4ff "github.com/Eyevinn/mp4ff/mp4"
)

// Verify reads the head of a finished rendition file back and checks it before
// it is published: the boxes are in order and end where the file ends, the
// tables agree with each other, every byte of media belongs to exactly one
// sample, frames are decoded in order and start with a keyframe, and the file
// matches what Assemble returned.
func Verify(f Input, want Summary) error {
	mdat, moov, err := readHead(f)
	if err != nil {
		return fmt.Errorf("verify the file: %w", err)
	}
	var spans []span
	got := Summary{Size: f.Size, Duration: ticks(int64(moov.Mvhd.Duration), moov.Mvhd.Timescale)}
	for i, trak := range moov.Traks {
		t, err := readTrack(moov, trak, f.Size)
		if err == nil && t.isVideo() {
			err = t.checkVideo()
			got.Frames += len(t.sizes)
			got.Width, got.Height = frameSize(t.entries[0])
		}
		if err != nil {
			return fmt.Errorf("verify track %d: %w", i+1, err)
		}
		spans = append(spans, t.spans...)
	}
	if err := checkTiling(spans, mdat); err != nil {
		return fmt.Errorf("verify the file: %w", err)
	}
	if got != want {
		return fmt.Errorf("verify the file: it is %+v instead of %+v", got, want)
	}
	return nil
}

func readHead(f Input) (mdat topBox, moov *mp4ff.MoovBox, err error) {
	boxes, err := f.topBoxes()
	if err != nil {
		return topBox{}, nil, err
	}
	var names []string
	for _, b := range boxes {
		names = append(names, b.name)
	}
	if !slices.Equal(names, []string{"ftyp", "moov", "mdat"}) {
		return topBox{}, nil, fmt.Errorf("its boxes are %q", names)
	}
	// Reading the last byte detects a truncated file: no table leads there.
	if err := f.readFull(make([]byte, 1), f.Size-1); err != nil {
		return topBox{}, nil, fmt.Errorf("read the last byte: %w", err)
	}
	moov, err = f.readMoov(boxes, maxMoov)
	return boxes[2], moov, err
}

// checkVideo checks the order of decoding.
func (t *track) checkVideo() error {
	if slices.Contains(t.stts.SampleTimeDelta, 0) {
		return errors.New("two frames are decoded at the same moment")
	}
	if t.sync != nil && (len(t.sync) == 0 || t.sync[0] != 1) {
		return errors.New("the first frame is not a keyframe")
	}
	return nil
}

// checkTiling checks that spans cover the body of mdat without gap or overlap.
func checkTiling(spans []span, mdat topBox) error {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.offset, b.offset) })
	at := mdat.offset + mdat.header
	for _, s := range spans {
		if s.offset != at {
			return fmt.Errorf("media is expected at byte %d but is at %d", at, s.offset)
		}
		at += s.size
	}
	if at != mdat.end() {
		return fmt.Errorf("the samples end at byte %d, the media at %d", at, mdat.end())
	}
	return nil
}
