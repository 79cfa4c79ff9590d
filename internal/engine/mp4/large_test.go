package mp4

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	mp4ff "github.com/Eyevinn/mp4ff/mp4"
)

// mirage is a file of which only the head exists; zeros follow.
type mirage struct{ head []byte }

func (m mirage) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	if off < int64(len(m.head)) {
		n = copy(p, m.head[off:])
	}
	clear(p[n:])
	return len(p), nil
}

// keeper counts what is written and keeps the first megabytes.
type keeper struct {
	head bytes.Buffer
	n    int64
}

func (k *keeper) Write(p []byte) (int, error) {
	if room := 64<<20 - k.head.Len(); room > 0 {
		k.head.Write(p[:min(len(p), room)])
	}
	k.n += int64(len(p))
	return len(p), nil
}

// fakeTrack makes a track of frames at 24 frames a second, set up like a real
// chunk file.
func fakeTrack(t testing.TB, like []byte, start int64, frames int, size uint32) *trackBuilder {
	t.Helper()
	tr, err := readSingle(Input{bytes.NewReader(like), int64(len(like))}, maxMoov)
	if err != nil {
		t.Fatal(err)
	}
	r := &trackBuilder{
		scale: scale, width: tr.width, height: tr.height, entries: tr.entries,
		edit: edit{delay: start, length: int64(frames) * 512},
		stts: &mp4ff.SttsBox{SampleCount: []uint32{uint32(frames)}, SampleTimeDelta: []uint32{512}},
		sync: []uint32{},
	}
	for i := range frames {
		r.sizes = append(r.sizes, size)
		r.times = append(r.times, start+int64(i)*512)
		if i%48 == 0 {
			r.sync = append(r.sync, uint32(i+1))
		}
	}
	r.sources = []source{{span: span{size: int64(frames) * int64(size), samples: frames}, input: Input{mirage{}, math.MaxInt64}}}
	return r
}

// fakeChunkFile makes a chunk file of that kind, whose media are zeros.
func fakeChunkFile(t testing.TB, like []byte, start int64, frames int, size uint32) Input {
	t.Helper()
	f, err := newLayout([]*trackBuilder{fakeTrack(t, like, start, frames, size)}, 24)
	if err != nil {
		t.Fatal(err)
	}
	var head bytes.Buffer
	if err := f.writeHead(&head); err != nil {
		t.Fatal(err)
	}
	return Input{mirage{head.Bytes()}, f.size()}
}

func TestAVideoOfMoreThanFourGiBHasWideOffsets(t *testing.T) {
	t.Parallel()
	const frames, size = 2400, 1 << 20
	like := tinyChunkFile(t)
	pieces := []Input{fakeChunkFile(t, like, 0, frames, size), fakeChunkFile(t, like, frames*512, frames, size)}
	var k keeper
	s, err := Assemble(&k, pieces, nil, Timing{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Frames != 2*frames || s.Size != k.n || s.Size < 2*frames*size {
		t.Errorf("Assemble = %+v and wrote %d bytes, want %d frames", s, k.n, 2*frames)
	}
	film := Input{mirage{k.head.Bytes()}, s.Size}
	if err := Verify(film, s); err != nil {
		t.Error(err)
	}
	boxes, err := film.topBoxes()
	if err != nil {
		t.Fatal(err)
	}
	moov, err := film.readMoov(boxes, maxMoov)
	if err != nil {
		t.Fatal(err)
	}
	if stbl := moov.Trak.Mdia.Minf.Stbl; stbl.Co64 == nil || stbl.Stco != nil || boxes[2].header != largeBoxHeader {
		t.Errorf("offsets wide: %t, header of the media: %d bytes", stbl.Co64 != nil, boxes[2].header)
	}
	x, err := ReadIndex(film)
	if err != nil {
		t.Fatal(err)
	}
	list := x.Video.List()
	parts, err := x.Video.Segment(len(list) - 1)
	if err != nil || len(list) != 50 || parts[len(parts)-1].To != s.Size {
		t.Errorf("the last of %d segments is %+v, %v; want 50 that end at byte %d", len(list), parts[1:], err, s.Size)
	}
}

func TestOffsetsAreWideOnlyWhenNeeded(t *testing.T) {
	t.Parallel()
	like := tinyChunkFile(t)
	narrow, err := newLayout([]*trackBuilder{fakeTrack(t, like, 0, 4095, 1<<20)}, 24)
	if err != nil {
		t.Fatal(err)
	}
	// The last frame grows until the file ends exactly at, then one behind, the
	// last byte that 32 bits can name.
	room := math.MaxUint32 - narrow.size()
	for extra, wide := range map[int64]bool{0: false, room: false, room + 1: true} {
		r := fakeTrack(t, like, 0, 4095, 1<<20)
		r.sizes[4094] += uint32(extra)
		f, err := newLayout([]*trackBuilder{r}, r.scale)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.moov.Trak.Mdia.Minf.Stbl.Co64 != nil; got != wide {
			t.Errorf("a rendition of %d bytes has wide offsets: %t, want %t", f.size(), got, wide)
		}
	}
}

func TestAVideoOfADayHasWideTimes(t *testing.T) {
	t.Parallel()
	r := fakeTrack(t, tinyChunkFile(t), 0, 1000, 100)
	r.scale = 90000
	r.stts.SampleTimeDelta[0] = 90000 * 86
	r.edit.length = 1000 * 90000 * 86
	f, err := newLayout([]*trackBuilder{r}, r.scale)
	if err != nil {
		t.Fatal(err)
	}
	var head bytes.Buffer
	if err := f.writeHead(&head); err != nil {
		t.Fatal(err)
	}
	if got := f.summary().Duration.Hours(); math.Abs(got-23.89) > 0.01 {
		t.Errorf("the rendition lasts %g h, want 23.89", got)
	}
	if err := Verify(Input{mirage{head.Bytes()}, f.size()}, f.summary()); err != nil {
		t.Error(err)
	}
}

// BenchmarkAssemble joins two chunk files of 64 MiB, from files to a file.
func BenchmarkAssemble(b *testing.B) {
	const frames, size = 640, 100 << 10
	like, dir := tinyChunkFile(b), b.TempDir()
	var pieces []Input
	for i := range int64(2) {
		p := fakeChunkFile(b, like, i*frames*512, frames, size)
		path := filepath.Join(dir, fmt.Sprint(i))
		raw, err := io.ReadAll(io.NewSectionReader(p, 0, p.Size))
		if err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			b.Fatal(err)
		}
		pieces = append(pieces, open(b, path))
	}
	b.SetBytes(2 * frames * size)
	b.ReportAllocs()
	for b.Loop() {
		out, err := os.Create(filepath.Join(dir, "rendition.mp4"))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Assemble(out, pieces, nil, Timing{}); err != nil {
			b.Fatal(err)
		}
		if err := out.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTables builds the head of a rendition of ten hours in 20 s chunks: a
// million frames, and next to no media.
func BenchmarkTables(b *testing.B) {
	const frames = 480
	like := tinyChunkFile(b)
	var pieces []Input
	for i := range 1800 {
		pieces = append(pieces, fakeChunkFile(b, like, int64(i)*frames*512, frames, 10))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Assemble(io.Discard, pieces, nil, Timing{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkIndex reads the index of a rendition of ten hours.
func BenchmarkIndex(b *testing.B) {
	f, err := newLayout([]*trackBuilder{fakeTrack(b, tinyChunkFile(b), 0, 24*36000, 10000)}, 24)
	if err != nil {
		b.Fatal(err)
	}
	var head bytes.Buffer
	if err := f.writeHead(&head); err != nil {
		b.Fatal(err)
	}
	film := Input{mirage{head.Bytes()}, f.size()}
	b.ReportAllocs()
	for b.Loop() {
		x, err := ReadIndex(film)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(x.Footprint()), "B-kept")
	}
}
