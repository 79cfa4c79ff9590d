package mp4

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestGrowingSegmentsAreThoseOfTheFile checks the promise on which playing a video while it is
// encoded rests: whatever is there, each segment is, to the byte, the one of the finished file.
func TestGrowingSegmentsAreThoseOfTheFile(t *testing.T) {
	source := filepath.Join(t.TempDir(), "source.mp4")
	// Variable times, a first frame after zero, and keyframes that are forced on a grid below.
	ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=160x90:r=12:d=21.3", "-vf", `settb=1/12288,select=not(eq(mod(n\,7)\,3)),setpts=PTS+mod(N\,3)*0.004/TB`,
		"-fps_mode", "passthrough", "-enc_time_base", "1:12288", "-video_track_timescale", "12288", "-c:v", "libx264", "-preset", "ultrafast", "-bf", "0", source)
	grid := []string{"-force_key_frames", "expr:isnan(prev_forced_t)+gt(floor(t/2),floor(prev_forced_t/2))"}
	var paths []string
	for i, c := range []struct {
		from, to float64
		extra    []string
	}{
		{0, 6.1, []string{"-bf", "0"}},                 // no delay of B-frames at first,
		{6.1, 11.5, []string{"-bf", "3"}},              // but later
		{11.5, 16.4, []string{"-bf", "2", "-g", "7"}},  // and keyframes off the grid
		{16.4, 22, []string{"-bf", "2", "-refs", "5"}}, // another decoder configuration
	} {
		path := encode(t, source, int64(c.from*scale), int64(c.to*scale), append(c.extra, grid...)...)
		kept := filepath.Join(t.TempDir(), fmt.Sprint(i))
		if err := os.Rename(path, kept); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, kept)
	}
	whole := open(t, makeAudio(t, 0, 20.77))
	audio := cutAudio(t, whole, 300, 500)
	chunks := openAll(t, paths)
	for name, delay := range map[string]int64{"a delay that is enough": scale / 3, "a delay that is too short": 40} {
		t.Run(name, func(t *testing.T) {
			growsInto(t, chunks, audio, Timing{Length: 21300 * time.Millisecond, Delay: delay})
		})
	}
}

// growsInto assembles a file and compares it with its pieces.
func growsInto(t *testing.T, chunks, audio []Input, timing Timing) {
	t.Helper()
	film := filepath.Join(t.TempDir(), "film.mp4")
	f, err := os.Create(film)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sum, err := Assemble(f, chunks, audio, timing)
	if err != nil {
		t.Fatal(err)
	}
	file := Input{f, sum.Size}
	if err := Verify(file, sum); err != nil {
		t.Fatal(err)
	}
	index := readIndex(t, film)
	grows(t, "video", file, index.Video, chunks, func(p []*Piece, all bool) (*Segments, error) { return GrowingVideo(p, all, timing) })
	grows(t, "audio", file, index.Audio, audio, func(p []*Piece, all bool) (*Segments, error) { return GrowingAudio(p, all, scale) })
}

// cutAudio cuts an audio track before some packets.
func cutAudio(t *testing.T, whole Input, borders ...int) []Input {
	t.Helper()
	track, err := Inspect(whole, maxMoov)
	if err != nil {
		t.Fatal(err)
	}
	var pieces []Input
	from := 0
	for _, to := range append(borders, track.Frames) {
		var b bytes.Buffer
		if err := CutAudio(&b, whole, from, to-from); err != nil {
			t.Fatal(err)
		}
		pieces, from = append(pieces, Input{bytes.NewReader(b.Bytes()), int64(b.Len())}), to
	}
	return pieces
}

// grows checks a track with the first pieces, then with one more, and so on.
func grows(t *testing.T, name string, file Input, want *Segments, inputs []Input, join func([]*Piece, bool) (*Segments, error)) {
	t.Helper()
	var pieces []*Piece
	before := 0
	for i, p := range inputs {
		piece, err := ReadPiece(p)
		if err != nil {
			t.Fatal(err)
		}
		pieces = append(pieces, piece)
		for _, all := range []bool{false, true} {
			if all && i+1 < len(inputs) {
				continue
			}
			got, err := join(pieces, all)
			if err != nil {
				t.Fatalf("%s of %d pieces: %v", name, len(pieces), err)
			}
			n := len(got.List())
			if n <= before && !all || all && n != len(want.List()) {
				t.Errorf("%s of %d pieces has %d segments, after %d; the file has %d", name, len(pieces), n, before, len(want.List()))
			}
			before = n
			if !bytes.Equal(got.Init, want.Init) {
				t.Errorf("%s of %d pieces has another init segment than the file", name, len(pieces))
			}
			for k := range n {
				if g, w := got.List()[k], want.List()[k]; g.Start != w.Start || g.End != w.End || g.Size != w.Size {
					t.Errorf("segment %d of %s is %+v, of the file %+v", k, name, g, w)
				}
				if !bytes.Equal(renderPieces(t, inputs, got, k), render(t, file, want, k)) {
					t.Errorf("segment %d of %s, of %d pieces, is not that of the file", k, name, len(pieces))
				}
			}
		}
	}
}

// renderPieces is render for a track that grows.
func renderPieces(t *testing.T, inputs []Input, s *Segments, n int) []byte {
	t.Helper()
	parts, err := s.Segment(n)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, p := range parts {
		b.Write(p.Bytes)
		piece, at := PieceAt(p.From)
		media := make([]byte, p.To-p.From)
		if err := inputs[piece].readFull(media, at); err != nil {
			t.Fatal(err)
		}
		b.Write(media)
	}
	return b.Bytes()
}

func TestCutAudioNeedsAudio(t *testing.T) {
	whole := open(t, makeAudio(t, 0, 1))
	for _, tt := range []struct{ from, packets int }{{-1, 3}, {0, 0}, {40, 10}, {0, 1}} {
		if err := CutAudio(&bytes.Buffer{}, whole, tt.from, tt.packets); err == nil {
			t.Errorf("CutAudio of %d packets from %d: no error", tt.packets, tt.from)
		}
	}
}
