package mp4

import (
	"bytes"
	"fmt"
	"testing"
)

// TestTheFileOfATrackHasItsSegments compares what is cut of a sound track's own file with what is cut of a video that
// holds it: a viewer may have some of either.
func TestTheFileOfATrackHasItsSegments(t *testing.T) {
	t.Parallel()
	chunks := openAll(t, encodeChunks(t, makeSource(t, false), 0, 20*scale))
	whole := open(t, makeAudio(t, 0.3, 9.77))
	for name, pieces := range map[string][]Input{"made at once": {whole}, "made in pieces": cutAudio(t, whole, 200, 300)} {
		t.Run(name, func(t *testing.T) {
			var film, track bytes.Buffer
			if _, err := Assemble(&film, chunks, pieces, Timing{}); err != nil {
				t.Fatal(err)
			}
			if err := WriteSound(&track, whole, scale, len(pieces) > 1); err != nil {
				t.Fatal(err)
			}
			inFilm := Input{bytes.NewReader(film.Bytes()), int64(film.Len())}
			alone := Input{bytes.NewReader(track.Bytes()), int64(track.Len())}
			want, err := ReadIndex(inFilm)
			if err != nil {
				t.Fatal(err)
			}
			got, err := ReadIndex(alone)
			if err != nil {
				t.Fatal(err)
			}
			if got.Video != nil || !bytes.Equal(got.Audio.Init, want.Audio.Init) || len(got.Audio.List()) != len(want.Audio.List()) {
				t.Fatalf("the file has pictures: %v, or another header, or %d segments instead of %d", got.Video != nil, len(got.Audio.List()), len(want.Audio.List()))
			}
			for i := range got.Audio.List() {
				if !bytes.Equal(render(t, alone, got.Audio, i), render(t, inFilm, want.Audio, i)) {
					t.Errorf("segment %d differs", i)
				}
			}
		})
	}
}

// TestTheFramesStayWhenTheSoundIsReplaced makes a file with one sound, gives it another one, and compares it with the file
// that has that sound from the start.
func TestTheFramesStayWhenTheSoundIsReplaced(t *testing.T) {
	t.Parallel()
	source := makeSource(t, true)
	long, short := open(t, makeAudio(t, 0, 9.77)), open(t, makeAudio(t, 0.2, 8))
	for name, timing := range map[string]Timing{"as few ticks of delay as possible": {}, "a delay that was decided before": {Delay: scale / 3}} {
		for _, before := range [][]Input{{long}, nil} {
			t.Run(fmt.Sprint(name, ", with ", len(before), " tracks before"), func(t *testing.T) {
				chunks := openAll(t, encodeChunks(t, source, 0, 3*scale, 20*scale))
				var film, want, got bytes.Buffer
				if _, err := Assemble(&film, chunks, before, timing); err != nil {
					t.Fatal(err)
				}
				if _, err := Assemble(&want, chunks, []Input{short}, timing); err != nil {
					t.Fatal(err)
				}
				sum, err := ReplaceSound(&got, Input{bytes.NewReader(film.Bytes()), int64(film.Len())}, short)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got.Bytes(), want.Bytes()) || sum.Size != int64(got.Len()) {
					t.Errorf("the file has %d bytes, not the %d that it would have had from the start, or others", got.Len(), want.Len())
				}
			})
		}
	}
}
