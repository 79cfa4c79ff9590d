package mp4

import (
	"errors"
	"slices"
	"time"
)

// Keyframes are the frames of a rendition file that can be decoded alone.
type Keyframes struct {
	Width, Height int
	At            []time.Duration // when each is shown, from the beginning of the video; never empty
	End           time.Duration   // of the video
}

// ReadKeyframes reads the tables of a file that Assemble made.
func ReadKeyframes(file Input) (Keyframes, error) {
	moov, err := file.leadingMoov()
	if err != nil {
		return Keyframes{}, err
	}
	for _, trak := range moov.Traks {
		t, err := readTrack(moov, trak, file.Size)
		if err != nil {
			return Keyframes{}, err
		}
		if t.isVideo() {
			return t.keyframes()
		}
	}
	return Keyframes{}, ErrNoFrames
}

func (t *track) keyframes() (Keyframes, error) {
	first, end := t.playtime()
	k := Keyframes{End: ticks(end-first, t.scale)}
	k.Width, k.Height = frameSize(t.entries[0])
	for i, pts := range t.pts {
		if _, sync := slices.BinarySearch(t.sync, uint32(i+1)); sync || t.sync == nil {
			k.At = append(k.At, ticks(max(pts-first, 0), t.scale))
		}
	}
	if len(k.At) == 0 || !slices.IsSorted(k.At) {
		return Keyframes{}, errors.New("the track has no keyframes in their order")
	}
	return k, nil
}
