package mp4

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"testing"

	mp4ff "github.com/Eyevinn/mp4ff/mp4"
	"github.com/google/go-cmp/cmp"
)

const end = math.MaxInt64

func TestAssembleKeepsEveryFrameAndTime(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		vary    bool
		borders []int64
	}{
		{"three chunks of constant rate", false, []int64{0, 2 * scale, 4 * scale, end}},
		{"three chunks of variable rate", true, []int64{0, 2 * scale, 4 * scale, end}},
		{"one chunk", false, []int64{0, end}},
		{"a chunk of a single frame", false, []int64{0, 512, 1024, end}},
		{"a rendition whose first frame is not at zero", false, []int64{2 * scale, 4 * scale, end}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			source := makeSource(t, tt.vary)
			paths := encodeChunks(t, source, tt.borders...)
			one := encode(t, source, tt.borders[0], end)
			film, s := assemble(t, openAll(t, paths), nil, append(paths, one)...)

			got := packets(t, film)
			want := times(packets(t, one))
			if diff := cmp.Diff(want, times(got)); diff != "" {
				t.Errorf("times differ from those of one chunk (-one +joined):\n%s", diff)
			}
			if s.Frames != len(want) || s.Width != 160 || s.Height != 90 {
				t.Errorf("Assemble = %+v, want %d frames of 160x90", s, len(want))
			}
			checkDecodeOrder(t, got)
			checkFrames(t, film, paths)
		})
	}
}

func checkDecodeOrder(t *testing.T, packets []packet) {
	t.Helper()
	for i, p := range packets {
		if p.DTS > p.PTS {
			t.Errorf("packet %d is decoded at %d and shown at %d", i, p.DTS, p.PTS)
		}
		if i > 0 && p.DTS <= packets[i-1].DTS {
			t.Errorf("packet %d is decoded at %d, after %d", i, p.DTS, packets[i-1].DTS)
		}
	}
}

// checkFrames compares every frame of the rendition with those of its chunk files.
func checkFrames(t *testing.T, film string, pieces []string, input ...string) {
	t.Helper()
	want := map[int64]string{}
	ofPieces, _ := look(t, pieces, nil)
	for _, p := range ofPieces {
		maps.Copy(want, p.frames)
	}
	if diff := cmp.Diff(want, frameHashes(t, film, input...)); diff != "" {
		t.Errorf("frames differ from those of the chunk files (-chunk files +rendition):\n%s", diff)
	}
}

func TestSeekingToABorderShowsTheRightFrame(t *testing.T) {
	t.Parallel()
	source := makeSource(t, false)
	film, _ := assemble(t, openAll(t, encodeChunks(t, source, 0, 2*scale, 4*scale, end)), nil)
	all := frameHashes(t, film)
	for _, border := range []int64{2 * scale, 4 * scale} {
		for frame := int64(-2); frame <= 2; frame++ {
			at := border + frame*512
			// Half a frame early, so that rounding of seconds cannot matter.
			seek := fmt.Sprintf("%.6f", (float64(at)-256)/scale)
			got := frameHashes(t, film, "-ss", seek)
			if first := slices.Min(slices.Collect(maps.Keys(got))); first != at || got[at] != all[at] {
				t.Errorf("seeking to %s s shows the frame of %d (%s), want %d (%s)", seek, first, got[first], at, all[at])
			}
		}
	}
}

func TestAssembleWithAudio(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		late, seconds float64
		want          float64 // duration of the rendition
	}{
		{"as long as the frames", 0, 6, 6},
		{"longer than the frames", 0, 8, 8},
		{"shorter than the frames", 0, 1.5, 6},
		{"later than the frames", 0.7, 4, 6},
	}
	source := makeSource(t, false)
	pieces := openAll(t, encodeChunks(t, source, 0, 2*scale, end))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := makeAudio(t, tt.late, tt.seconds)
			sound := open(t, path)
			film, s := write(t, pieces, &sound)
			_, heard := look(t, []string{film}, []string{film, path}) // all of it is decoded

			video, audio := startTimes(t, film)
			_, alone := startTimes(t, path)
			if video != 0 || math.Abs(audio-alone) > 0.001 {
				t.Errorf("frames start at %g s and audio at %g s, want 0 and %g", video, audio, alone)
			}
			if got := s.Duration.Seconds(); math.Abs(got-tt.want) > 0.001 {
				t.Errorf("the rendition lasts %g s, want %g", got, tt.want)
			}
			if heard[0].audioHash != heard[1].audioHash || heard[0].audioHash == "" {
				t.Errorf("the audio decodes to %q, that of its chunk file to %q", heard[0].audioHash, heard[1].audioHash)
			}
		})
	}
}

func TestTracksAreInterleaved(t *testing.T) {
	t.Parallel()
	sound := open(t, makeAudio(t, 0, 6))
	film, _ := assemble(t, openAll(t, encodeChunks(t, makeSource(t, false), 0, 2*scale, end)), &sound)
	boxes, err := open(t, film).topBoxes()
	if err != nil {
		t.Fatal(err)
	}
	moov, err := open(t, film).readMoov(boxes, maxMoov)
	if err != nil {
		t.Fatal(err)
	}
	for i, trak := range moov.Traks {
		if n := len(trak.Mdia.Minf.Stbl.Stco.ChunkOffset); n < 6 || n > 13 {
			t.Errorf("track %d lies in %d chunks, want one for each 0.5 to 1 s of 6 s", i+1, n)
		}
	}
}

func TestAssembleIsDeterministic(t *testing.T) {
	t.Parallel()
	pieces := openAll(t, encodeChunks(t, makeSource(t, false), 0, 2*scale, end))
	sound := open(t, makeAudio(t, 0, 6))
	var a, b bytes.Buffer
	for _, w := range []io.Writer{&a, &b} {
		if _, err := Assemble(w, pieces, []Input{sound}, Timing{}); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("the same chunk files gave different renditions")
	}
}

func TestChunkFilesEncodedDifferentlyStillPlay(t *testing.T) {
	t.Parallel()
	source := makeSource(t, false)
	paths := []string{
		encode(t, source, 0, 2*scale),
		encode(t, source, 2*scale, 4*scale, "-profile:v", "baseline", "-refs", "4"),
		encode(t, source, 4*scale, end),
	}
	film, _ := write(t, openAll(t, paths), nil)
	// ffmpeg decodes it correctly, but its parser warns: it knows the first configuration only.
	checkFrames(t, film, paths, "-v", "fatal")

	if n := setups(t, film); n != 2 {
		t.Errorf("the rendition has %d decoder configuration, want 2", n)
	}
}

// A rendition of ours is itself a file whose frames do not lie together. With the
// audio track hidden it is a chunk file.
func TestSamplesOfAChunkFileMayLieApart(t *testing.T) {
	t.Parallel()
	sound := open(t, makeAudio(t, 0, 6))
	paths := encodeChunks(t, makeSource(t, false), 0, end)
	film, _ := assemble(t, openAll(t, paths), &sound)
	raw, err := os.ReadFile(film)
	if err != nil {
		t.Fatal(err)
	}
	copy(raw[bytes.LastIndex(raw, []byte("trak")):], "free")
	apart := Input{bytes.NewReader(raw), int64(len(raw))}

	tr, err := readSingle(apart, maxMoov)
	if err != nil || len(tr.spans) < 5 {
		t.Fatalf("the chunk file lies in %d spans, %v; want several", len(tr.spans), err)
	}
	again, _ := assemble(t, []Input{apart}, nil)
	checkFrames(t, again, paths)
}

func TestPictureShapeAndColourAreKept(t *testing.T) {
	t.Parallel()
	path := encode(t, makeSource(t, false), 0, end, "-aspect", "4:3", "-color_primaries", "bt709", "-color_trc", "bt709", "-colorspace", "bt709")
	film, _ := assemble(t, []Input{open(t, path)}, nil)
	tr, err := readSingle(open(t, film), maxMoov)
	if err != nil {
		t.Fatal(err)
	}
	entry := tr.entries[0].(*mp4ff.VisualSampleEntryBox)
	var kinds []string
	for _, c := range entry.Children {
		kinds = append(kinds, c.Type())
	}
	if diff := cmp.Diff([]string{"avcC", "colr", "pasp"}, kinds); diff != "" {
		t.Errorf("boxes of the frame's description (-want +got):\n%s", diff)
	}
	if tr.width>>16 != 120 {
		t.Errorf("the rendition is shown %d wide, want 120", tr.width>>16)
	}
}
