package mp4

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func readIndex(t testing.TB, path string) *Index {
	t.Helper()
	x, err := ReadIndex(open(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// render returns a segment as it is sent.
func render(t testing.TB, film Input, s *Segments, n int) []byte {
	t.Helper()
	parts, err := s.Segment(n)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, film, parts)
}

func read(t testing.TB, film Input, parts []Part) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, p := range parts {
		b.Write(p.Bytes)
		media := make([]byte, p.To-p.From)
		if err := film.readFull(media, p.From); err != nil {
			t.Fatal(err)
		}
		b.Write(media)
	}
	return b.Bytes()
}

// fragmented writes the segments of a track, all of them or just one, behind
// its configuration.
func fragmented(t testing.TB, path string, s *Segments, only ...int) string {
	t.Helper()
	if len(only) == 0 {
		for n := range s.List() {
			only = append(only, n)
		}
	}
	b := bytes.Clone(s.Init)
	for _, n := range only {
		b = append(b, render(t, open(t, path), s, n)...)
	}
	out := filepath.Join(t.TempDir(), "fragmented.mp4")
	if err := os.WriteFile(out, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSegmentsAreTheVideo cuts renditions of every kind and wants each frame back, at
// its time.
func TestSegmentsAreTheVideo(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		vary    bool
		borders []int64
		extra   []string
		late    float64 // when the audio starts
		sound   float64 // how long it lasts; 0 means none
		cuts    int     // segments of frames
	}{
		{"several chunk files, with audio", false, []int64{0, 2 * scale, 4 * scale, end}, nil, 0, 6, 2},
		{"uneven times and many B-frames", true, []int64{0, end}, []string{"-bf", "8", "-g", "20"}, 0, 0, 2},
		{"audio that starts late and lasts longer", false, []int64{0, end}, []string{"-g", "24"}, 0.5, 9, 2},
		{"frames that start late, audio that is shorter", false, []int64{scale, 3 * scale, end}, nil, 0, 1, 1},
		{"a single frame", false, []int64{0, 512}, nil, 0, 0, 1},
	}
	sources := map[bool]string{false: makeSource(t, false), true: makeSource(t, true)}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			source := sources[tt.vary]
			var pieces []Input
			for i := range tt.borders[1:] {
				pieces = append(pieces, open(t, encode(t, source, tt.borders[i], tt.borders[i+1], tt.extra...)))
			}
			var sound *Input
			if tt.sound > 0 {
				p := open(t, makeAudio(t, tt.late, tt.sound))
				sound = &p
			}
			film, _ := write(t, pieces, sound)
			x := readIndex(t, film)
			if len(x.Video.List()) != tt.cuts || (x.Audio != nil) != (sound != nil) {
				t.Errorf("the rendition has %d segments of frames and audio %v, want %d and %v", len(x.Video.List()), x.Audio != nil, tt.cuts, sound != nil)
			}
			checkSegments(t, film, x)
		})
	}
}

// TestASegmentMayNeedTwoSetups joins chunk files that were encoded differently, in the
// middle of a segment.
func TestASegmentMayNeedTwoSetups(t *testing.T) {
	t.Parallel()
	source := makeSource(t, false)
	pieces := []Input{open(t, encode(t, source, 0, 3*scale)), open(t, encode(t, source, 3*scale, end, "-profile:v", "baseline"))}
	film, _ := write(t, pieces, nil)
	x := readIndex(t, film)
	if got := x.Video.Codecs; len(got) != 2 || !strings.HasPrefix(got[0], "avc1.64") || !strings.HasPrefix(got[1], "avc1.42") {
		t.Errorf("the codecs are %q, want those of both chunk files", got)
	}
	raw := render(t, open(t, film), x.Video, 0)
	if n := bytes.Count(raw, []byte("moof")); n != 2 || len(x.Video.List()) != 1 || int64(len(raw)) != x.Video.List()[0].Size {
		t.Errorf("%d segments with %d fragments have %d bytes, announced are %d", len(x.Video.List()), n, len(raw), x.Video.List()[0].Size)
	}
	// Of the rendition, ffmpeg's parser warns; see TestChunkFilesEncodedDifferentlyStillPlay.
	got, want := frameHashes(t, fragmented(t, film, x.Video)), frameHashes(t, film, "-v", "fatal")
	if !maps.Equal(got, want) {
		t.Errorf("the segment shows %d frames, the rendition %d, or others", len(got), len(want))
	}
}

// checkSegments compares the segments of a rendition with the rendition.
func checkSegments(t *testing.T, film string, x *Index) {
	t.Helper()
	films := []string{film, fragmented(t, film, x.Video), keyFrames(t, film, x.Video)}
	for n := range x.Video.List() {
		films = append(films, fragmented(t, film, x.Video, n))
	}
	var sounds []string
	if x.Audio != nil {
		sounds = []string{film, fragmented(t, film, x.Audio)}
	}
	at := []time.Duration{-1, 0, 1900 * time.Millisecond, x.Video.Length() / 2, x.Video.Length() - 1, time.Hour}
	for _, d := range at {
		path, _ := writeStill(t, film, x.Video, d)
		films = append(films, path)
	}
	shown, heard := look(t, films, sounds)
	for i, d := range at {
		checkStill(t, film, x.Video, d, shown[len(shown)-len(at)+i], shown[0])
	}
	if want, got := shown[0], shown[1]; !maps.Equal(got.frames, want.frames) {
		t.Errorf("the segments show %d frames at %v, the rendition %d at %v", len(got.frames), times(got.packets), len(want.frames), times(want.packets))
	}
	checkStills(t, shown[2].frames, shown[0].frames, x.Video)
	for n, g := range x.Video.List() {
		if size := len(render(t, open(t, film), x.Video, n)); int64(size) != g.Size {
			t.Errorf("segment %d has %d bytes, announced are %d", n, size, g.Size)
		}
		alone := shown[3+n].packets
		if len(alone) != g.Frames || !alone[0].Key {
			t.Fatalf("segment %d has the frames %+v; want %d from a keyframe on", n, alone, g.Frames)
		}
		if pts := times(alone); n > 0 && pts[0] != g.Start || pts[0] < g.Start || pts[len(pts)-1] >= g.End {
			t.Errorf("segment %d shows frames from %d to %d, announced is %d to %d", n, pts[0], pts[len(pts)-1], g.Start, g.End)
		}
	}
	if x.Audio != nil {
		if _, err := x.Audio.KeyFrame(0); err == nil {
			t.Error("audio has a keyframe")
		}
		if want, got := heard[0].audio, heard[1].audio; !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("the audio of the segments is\n%v, that of the rendition\n%v", got, want)
		}
	}
}

// writeStill writes the film of the frame at a time.
func writeStill(t *testing.T, film string, s *Segments, at time.Duration) (path string, shown int64) {
	t.Helper()
	still, err := s.Still(at)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "still.mp4")
	if err := os.WriteFile(path, read(t, open(t, film), still.Parts), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, still.At
}

// checkStill wants the frame of the rendition that is shown at a time, and no frames that are not needed for it.
func checkStill(t *testing.T, film string, s *Segments, at time.Duration, got, all content) {
	t.Helper()
	_, shown := writeStill(t, film, s, at)
	want := times(all.packets)[0]
	for _, pts := range times(all.packets) {
		if ticks(pts, uint32(s.Timescale)) <= at {
			want = pts
		}
	}
	if shown != want || got.frames[shown] != all.frames[want] || got.frames[shown] == "" {
		t.Errorf("at %v the frame of %d is shown, want %d; its picture is %q, want %q", at, shown, want, got.frames[shown], all.frames[want])
	}
	keys := 0
	for _, p := range got.packets {
		if p.Key {
			keys++
		}
	}
	if keys != 1 || !got.packets[0].Key {
		t.Errorf("the frame at %v is decoded from %d keyframes", at, keys)
	}
}

// keyFrames writes the first frame of each segment behind the configuration.
func keyFrames(t *testing.T, film string, s *Segments) string {
	t.Helper()
	stills := bytes.Clone(s.Init)
	for n, g := range s.List() {
		parts, err := s.KeyFrame(n)
		if err != nil {
			t.Fatal(err)
		}
		raw := read(t, open(t, film), parts)
		if int64(len(raw)) != g.KeySize || g.KeySize > g.Size {
			t.Errorf("the first frame of segment %d has %d bytes, announced are %d", n, len(raw), g.KeySize)
		}
		stills = append(stills, raw...)
	}
	path := filepath.Join(t.TempDir(), "stills.mp4")
	if err := os.WriteFile(path, stills, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// checkStills wants the first frame of each segment, alone, at its time.
func checkStills(t *testing.T, got, all map[int64]string, s *Segments) {
	t.Helper()
	for at, hash := range got {
		if all[at] != hash {
			t.Errorf("the still at %v is none of the frames of the rendition", at)
		}
	}
	if len(got) != len(s.List()) {
		t.Errorf("there are %d stills of %d segments", len(got), len(s.List()))
	}
	if _, err := s.KeyFrame(len(s.List())); err == nil {
		t.Error("there is a still behind the last segment")
	}
}
