package stream

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/spool-video/spool/internal/engine/mp4"
)

// countingSource reads from rendition and counts how often it is asked.
type countingSource struct {
	film  []byte
	seeks bool // whether what it opens can be sought in
	asked []mp4.Range
	open  int
}

func (c *countingSource) span(from, to int64) io.ReadCloser {
	c.asked = append(c.asked, mp4.Range{From: from, To: to})
	c.open++
	r := io.NewSectionReader(bytes.NewReader(c.film), from, to-from)
	if c.seeks {
		return seekable{r, c}
	}
	return plain{r, c}
}

type plain struct {
	io.Reader
	c *countingSource
}

func (p plain) Close() error { p.c.open--; return nil }

type seekable struct {
	*io.SectionReader
	c *countingSource
}

func (s seekable) Close() error { s.c.open--; return nil }

func part(from, to int64) mp4.Part { return mp4.Part{Range: mp4.Range{From: from, To: to}} }

func TestReader(t *testing.T) {
	t.Parallel()
	film := make([]byte, 2*maxGap)
	for i := range film {
		film[i] = byte(rand.IntN(256))
	}
	const far = maxGap + 2000
	parts := []mp4.Part{
		{Bytes: []byte("head one")}, part(10, 20), part(25, 4000),
		{Bytes: []byte("head two")}, part(4100, 5000), part(far+4000, far+4500), part(far+4500, far+4501),
	}
	var want []byte
	for _, p := range parts {
		want = append(append(want, p.Bytes...), film[p.From:p.To]...)
	}
	for _, seeks := range []bool{false, true} {
		c := &countingSource{film: film, seeks: seeks}
		r := NewReader(parts, c.span)
		if r.Size() != int64(len(want)) {
			t.Errorf("Size() = %d, want %d", r.Size(), len(want))
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
			t.Errorf("read %d bytes, %v; want %d", len(got), err, len(want))
		}
		if len(c.asked) != 2 || c.asked[0] != (mp4.Range{From: 10, To: 5000}) || c.asked[1] != (mp4.Range{From: far + 4000, To: far + 4501}) {
			t.Errorf("the rendition was asked for %v, want one span on each side of the wide gap", c.asked)
		}
		if err := iotest.TestReader(NewReader(parts, c.span), want); err != nil {
			t.Error(err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestReaderClosesWhatItOpens(t *testing.T) {
	t.Parallel()
	c := &countingSource{film: make([]byte, 100)}
	r := NewReader([]mp4.Part{part(0, 50), part(60, 100)}, c.span)
	if _, err := r.Read(make([]byte, 5)); err != nil || c.open != 1 {
		t.Fatalf("after a read %d are open, %v", c.open, err)
	}
	if err := r.Close(); err != nil || c.open != 0 {
		t.Errorf("after Close %d are open, %v", c.open, err)
	}
}

func TestAVideoThatIsShorterThanItsIndexIsAnError(t *testing.T) {
	t.Parallel()
	for _, parts := range [][]mp4.Part{{part(0, 101)}, {part(0, 50), part(150, 160)}} {
		c := &countingSource{film: make([]byte, 100)}
		if _, err := io.ReadAll(NewReader(parts, c.span)); err == nil {
			t.Errorf("reading %v ended with %v", parts, err)
		}
	}
}

// onlyFiles is a connection that can send parts of a file by itself.
type onlyFiles struct {
	bytes.Buffer
	files int
}

func (o *onlyFiles) ReadFrom(r io.Reader) (int64, error) {
	if l, ok := r.(*io.LimitedReader); ok {
		if _, ok := l.R.(*bytes.Reader); ok {
			o.files++
		}
	}
	return o.Buffer.ReadFrom(r)
}

// What CopyFrom sends is what Read reads, from any position, and ranges of the file reach the writer
// as such.
func TestCopyFrom(t *testing.T) {
	t.Parallel()
	film := make([]byte, 5000)
	for i := range film {
		film[i] = byte(rand.IntN(256))
	}
	parts := []mp4.Part{{Bytes: []byte("head one")}, part(10, 20), part(25, 4000), {Bytes: []byte("head two")}, part(4100, 4101)}
	source := &countingSource{film: film}
	want, err := io.ReadAll(NewReader(parts, source.span))
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []int64{0, 1, 8, 9, 17, 18, 3000, int64(len(want)) - 2} {
		for _, n := range []int64{0, 1, 12, int64(len(want)) - from} {
			if from+n > int64(len(want)) {
				continue
			}
			r, w := NewReader(parts, source.span), &onlyFiles{}
			if _, err := r.Seek(from, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			sent, err := r.CopyFrom(bytes.NewReader(film), w, n)
			if err != nil || sent != n || !bytes.Equal(w.Bytes(), want[from:from+n]) {
				t.Errorf("%d bytes from %d: sent %d, %v, and not what they are", n, from, sent, err)
			}
			if n == int64(len(want)) && w.files != 3 {
				t.Errorf("%d ranges reached the writer as parts of a file, want 3", w.files)
			}
			if rest, err := io.ReadAll(r); err != nil || !bytes.Equal(rest, want[from+n:]) {
				t.Errorf("after %d bytes from %d, reading goes on elsewhere: %v", n, from, err)
			}
		}
	}
	if _, err := NewReader(parts, source.span).CopyFrom(bytes.NewReader(film[:100]), &onlyFiles{}, int64(len(want))); err == nil {
		t.Error("a file that is too short is no error")
	}
}
