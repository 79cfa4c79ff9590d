package s3

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
)

func openObject(t *testing.T, size int) (*object, *server) {
	t.Helper()
	v, s := serve(size)
	head := io.NopCloser(bytes.NewReader(s.content[:min(size, headSize)]))
	o, err := v.open(t.Context(), head)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o.(*object), s
}

func readAt(t *testing.T, o *object, s *server, off, n int) {
	t.Helper()
	got := make([]byte, n)
	if _, err := o.ReadAt(got, int64(off)); err != nil || !bytes.Equal(got, s.content[off:off+n]) {
		t.Errorf("ReadAt %d bytes at %d: %v, or other bytes", n, off, err)
	}
}

func TestObjectSendsFewRequests(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	o, s := openObject(t, size)
	readAt(t, o, s, 0, 100)
	readAt(t, o, s, headSize-10, 10)
	s.wantRequests(t, 0, "the head")

	readAt(t, o, s, size/2, 8)
	readAt(t, o, s, size/2+1000, 8)
	readAt(t, o, s, size/2+20_000, 8)
	s.wantRequests(t, 1, "small reads close to each other")

	readAt(t, o, s, size/4, windowSize)
	s.wantRequests(t, 1, "a large read")

	for off := size/4 + windowSize; off < size/2; off += 1000 {
		readAt(t, o, s, off, 1000)
	}
	s.wantRequests(t, 1, "reads that follow each other")

	o, s = openObject(t, size)
	if got, err := io.ReadAll(o); err != nil || !bytes.Equal(got, s.content) {
		t.Errorf("ReadAll = %d bytes, %v", len(got), err)
	}
	s.wantRequests(t, 1, "reading all of it")
	s.wantNoneOpen(t)
}

// Chunk files are read up to the tables at their end, and a thousand of them are
// open at once: none may hold a connection until it is closed.
func TestSequentialReadNearTheEndKeepsNoConnection(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	o, s := openObject(t, size)
	samples := io.NewSectionReader(o, 48, size-48-windowSize/2)
	if _, err := io.CopyN(io.Discard, samples, size/2); err != nil || o.sequential == nil {
		t.Fatalf("reads that follow each other: %v; want a sequential request", err)
	}
	if _, err := io.Copy(io.Discard, samples); err != nil {
		t.Fatal(err)
	}
	s.wantNoneOpen(t)
	s.wantRequests(t, 1, "until the tables")
	readAt(t, o, s, size-100, 100)
	s.wantRequests(t, 0, "the tables")
}

func TestObjectThatIsClosed(t *testing.T) {
	t.Parallel()
	o, s := openObject(t, 1<<20)
	if _, err := io.CopyN(io.Discard, o, 100_000); err != nil {
		t.Fatal(err)
	}
	o.Close()
	s.wantNoneOpen(t)
	if _, err := o.Read(make([]byte, 1)); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Read after Close = %v; want fs.ErrClosed", err)
	}
}

func TestSpanIsOneRequest(t *testing.T) {
	t.Parallel()
	o, s := openObject(t, 1<<20)
	span := o.Span(blob.Range{From: 1000, To: 2 << 20})
	s.wantRequests(t, 0, "before the first read")
	if got, err := io.ReadAll(span); err != nil || !bytes.Equal(got, s.content[1000:]) {
		t.Errorf("a span gives %d bytes, %v", len(got), err)
	}
	s.wantRequests(t, 1, "a span")
	if err := span.Close(); err != nil {
		t.Error(err)
	}
	s.wantNoneOpen(t)
}

func TestEmptyObject(t *testing.T) {
	t.Parallel()
	v, s := serve(0)
	o, err := v.open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := o.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("Read = %d, %v; want EOF", n, err)
	}
	s.wantRequests(t, 0, "nothing to read")
}
