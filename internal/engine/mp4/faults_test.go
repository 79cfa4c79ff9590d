package mp4

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAssembleRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	source := makeSource(t, false)
	first, second := open(t, encode(t, source, 0, 2*scale)), open(t, encode(t, source, 2*scale, 4*scale))
	other := open(t, encode(t, source, 4*scale, end, "-video_track_timescale", "90000"))
	sound := open(t, makeAudio(t, 0, 1))
	empty := open(t, encodeNothing(t, source))

	tests := []struct {
		name   string
		pieces []Input
		audio  *Input
		want   string
	}{
		{"no chunk files", nil, nil, ErrNoFrames.Error()},
		{"only a chunk file without frames", []Input{empty}, nil, ErrNoFrames.Error()},
		{"a chunk file twice", []Input{first, second, second}, nil, "chunk 3: it starts at 24576/12288 s, but the chunks before last until"},
		{"chunk files in the wrong order", []Input{second, first}, nil, "chunk 2: it starts at 0/12288 s"},
		{"another time scale", []Input{first, second, other}, nil, "chunk 3: its time scale is 90000"},
		{"audio among the frames", []Input{first, sound}, nil, "chunk 2: the track is not video"},
		{"frames as audio", []Input{first}, &second, "read the audio: piece 1 of the track is not such audio"},
		{"audio without frames", []Input{first}, &empty, "read the audio: " + ErrNoFrames.Error()},
		{"a chunk file that lost its end", []Input{first, {second, second.Size - 1}}, nil, "chunk 2: "},
		{"a chunk file that was cut after its size was known", []Input{first, cut(second, second.Size/4)}, nil, "chunk 2: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Assemble(io.Discard, tt.pieces, oneOrNone(tt.audio), Timing{})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Assemble = %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// encodeNothing makes the file that ffmpeg leaves when no frame reached it.
func encodeNothing(t *testing.T, source string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "empty.mp4")
	capture(t, "ffmpeg", []string{"-v", "quiet", "-i", source, "-vf", "trim=start_pts=99999999", "-c:v", "libx264", path})
	return path
}

// cut is p with nothing behind the first n bytes.
func cut(p Input, n int64) Input {
	return Input{io.NewSectionReader(p, 0, n), p.Size}
}

func TestAChunkFileWithoutFramesAddsNothing(t *testing.T) {
	t.Parallel()
	source := makeSource(t, false)
	paths := []string{encode(t, source, 0, 2*scale), encodeNothing(t, source), encode(t, source, 4*scale, end)}
	if _, err := Inspect(open(t, paths[1]), maxMoov); !errors.Is(err, ErrNoFrames) {
		t.Errorf("Inspect = %v, want ErrNoFrames", err)
	}
	film, s := assemble(t, openAll(t, paths), nil)
	if s.Frames != 96 {
		t.Errorf("the rendition has %d frames, want 96", s.Frames)
	}
	checkFrames(t, film, []string{paths[0], paths[2]})
}

// failingWriter fails once it has taken n bytes.
type failingWriter struct{ n int }

var errFull = errors.New("the disk is full")

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.n -= len(p); w.n < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestAssembleReportsWriteErrors(t *testing.T) {
	t.Parallel()
	piece := open(t, encode(t, makeSource(t, false), 0, end))
	for _, n := range []int{0, int(piece.Size) - 1000} {
		if _, err := Assemble(&failingWriter{n}, []Input{piece}, nil, Timing{}); !errors.Is(err, errFull) {
			t.Errorf("Assemble on a disk with %d bytes = %v, want %v", n, err, errFull)
		}
	}
}

func TestInspect(t *testing.T) {
	t.Parallel()
	source := makeSource(t, false)
	path := encode(t, source, 2*scale, 4*scale, "-g", "24")
	got, err := Inspect(open(t, path), maxMoov)
	if err != nil {
		t.Fatal(err)
	}
	if got.Size < 1000 || got.Size > open(t, path).Size {
		t.Errorf("the chunk file has %d bytes of media", got.Size)
	}
	got.Size = 0
	want := Track{Codec: "avc1", Width: 160, Height: 90, Timescale: scale, Frames: 48, KeyFrames: 2, FirstPTS: 2 * scale, Duration: 2e9}
	if got != want {
		t.Errorf("Inspect = %+v, want %+v", got, want)
	}

	sound, err := Inspect(open(t, makeAudio(t, 0, 1)), maxMoov)
	if err != nil || sound.Codec != "mp4a" || sound.Timescale != 48000 || sound.FirstPTS != -1024 {
		t.Errorf("Inspect of audio = %+v, %v; want mp4a at 48000 with 1024 samples of priming", sound, err)
	}
}

// Every way to cut or to garble a chunk file's head must give an error or a track,
// and never a panic. The fuzz test goes on from here.
func TestDamagedChunkFilesAreErrors(t *testing.T) {
	t.Parallel()
	raw := tinyChunkFile(t)
	for n := range raw {
		if _, err := Inspect(Input{bytes.NewReader(raw[:n]), int64(n)}, maxMoov); err == nil {
			t.Fatalf("Inspect of the first %d of %d bytes succeeded", n, len(raw))
		}
	}
	for i := range raw {
		for _, b := range []byte{0, 1, 0x7f, 0xff} {
			garbled := bytes.Clone(raw)
			garbled[i] = b
			probe(garbled)
		}
	}
}

// tinyChunkFile returns the bytes of a chunk file that is nearly all tables, with the
// tables in front of the media.
func tinyChunkFile(t testing.TB, extra ...string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tiny.mp4")
	ffmpeg(t, slices.Concat([]string{"-f", "lavfi", "-i", "color=s=16x16:r=24:d=0.5", "-c:v", "libx264", "-movflags", "+faststart"}, extra, []string{path})...)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// probe does with a file all that can be done with one.
func probe(raw []byte) {
	p := Input{bytes.NewReader(raw), int64(len(raw))}
	_, _ = Inspect(p, maxMoov)
	_ = Verify(p, Summary{})
	cutUp(raw)
	var film bytes.Buffer
	s, err := Assemble(&film, []Input{p}, nil, Timing{})
	if err == nil {
		if err := Verify(Input{bytes.NewReader(film.Bytes()), int64(film.Len())}, s); err != nil {
			panic(fmt.Sprintf("a rendition that was assembled is not valid: %v", err))
		}
	}
	_, _ = Assemble(io.Discard, []Input{p}, []Input{p}, Timing{})
}

// cutUp reads the index of a rendition and makes every segment of it.
func cutUp(raw []byte) {
	x, err := ReadIndex(Input{bytes.NewReader(raw), int64(len(raw))})
	if err != nil {
		return
	}
	for _, s := range []*Segments{x.Video, x.Audio} {
		if s == nil {
			continue
		}
		var end int64
		for n, g := range s.List() {
			parts, err := s.Segment(n)
			if err != nil {
				panic(fmt.Sprintf("segment %d: %v", n, err))
			}
			if s.video {
				if _, err := s.KeyFrame(n); err != nil {
					panic(fmt.Sprintf("the first frame of segment %d: %v", n, err))
				}
			}
			size := int64(0)
			for _, p := range parts {
				if p.From < 0 || p.To > int64(len(raw)) {
					panic(fmt.Sprintf("segment %d reaches from %d to %d", n, p.From, p.To))
				}
				size += p.Size()
			}
			if size != g.Size || g.Start != end || g.End <= g.Start {
				panic(fmt.Sprintf("segment %d has %d bytes and is announced as %+v", n, size, g))
			}
			end = g.End
		}
	}
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x08moov"))
	piece := tinyChunkFile(f, "-vf", "setpts=PTS*4+1/TB")
	var film bytes.Buffer
	if _, err := Assemble(&film, []Input{{bytes.NewReader(piece), int64(len(piece))}}, nil, Timing{}); err != nil {
		f.Fatal(err)
	}
	f.Add(film.Bytes())
	f.Add(startLate(f, film.Bytes()))
	f.Fuzz(func(_ *testing.T, raw []byte) { cutUp(raw) })
}

// startLate makes the edit list of a rendition say that its first frame comes after a quarter of an hour.
func startLate(t testing.TB, film []byte) []byte {
	at := bytes.Index(film, []byte("elst"))
	if at < 0 {
		t.Fatal("the rendition has no edit list")
	}
	late := bytes.Clone(film)
	// Behind the name are the version and the number of entries, then the length of the first, which is a delay.
	binary.BigEndian.PutUint32(late[at+12:], 900*scale)
	return late
}

func TestRenditionThatStartsLateIsRefused(t *testing.T) {
	t.Parallel()
	path, _ := assemble(t, openAll(t, encodeChunks(t, makeSource(t, false), scale, end)), nil)
	film, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	late := startLate(t, film)
	if _, err := ReadIndex(Input{bytes.NewReader(late), int64(len(late))}); err == nil || !strings.Contains(err.Error(), "does not start at its beginning") {
		t.Errorf("ReadIndex = %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x00\x00\x00\x08moov"))
	f.Add([]byte("\x00\x00\x00\x01mdat\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Add(tinyChunkFile(f))
	f.Fuzz(func(_ *testing.T, raw []byte) { probe(raw) })
}

func TestVerifyFindsDamage(t *testing.T) {
	t.Parallel()
	sound := open(t, makeAudio(t, 0, 6))
	path, s := assemble(t, openAll(t, encodeChunks(t, makeSource(t, false), 0, 2*scale, end)), &sound)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string, skip int) int { return bytes.Index(raw, []byte(name)) + skip }
	other := s
	other.Frames++
	tests := []struct {
		name   string
		want   Summary
		damage func(b []byte) []byte
	}{
		{"the file is cut", s, func(b []byte) []byte { return b[:len(b)-1] }},
		{"the file has a tail", s, func(b []byte) []byte { return append(b, "\x00\x00\x00\x08free"...) }},
		{"the movie box is last", s, func(b []byte) []byte {
			moov, mdat := at("moov", -4), at("mdat", -4)
			return append(append(append([]byte{}, b[:moov]...), b[mdat:]...), b[moov:mdat]...)
		}},
		{"a chunk lies elsewhere", s, func(b []byte) []byte { b[at("stco", 15)]++; return b }},
		{"a sample has another size", s, func(b []byte) []byte { b[at("stsz", 19)]++; return b }},
		{"two frames are decoded at once", s, func(b []byte) []byte { copy(b[at("stts", 16):], []byte{0, 0, 0, 0}); return b }},
		{"the first frame is no keyframe", s, func(b []byte) []byte { b[at("stss", 15)] = 2; return b }},
		{"the rendition is another one", other, func(b []byte) []byte { return b }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := tt.damage(bytes.Clone(raw))
			if err := Verify(Input{bytes.NewReader(b), int64(len(b))}, tt.want); err == nil {
				t.Error("Verify found nothing wrong")
			}
		})
	}
}
