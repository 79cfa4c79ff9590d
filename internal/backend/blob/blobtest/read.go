package blobtest

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/spool-video/spool/internal/backend/blob"
)

var readCases = []testCase{
	{"Open of a missing object is fs.ErrNotExist", openMissing},
	{"Stat of a missing object is fs.ErrNotExist", statMissing},
	{"an open object reads, seeks and reads at ranges", objectReads},
	{"an open object reads at the borders of ranges", objectReadsAtBorders},
	{"spans of an open object are read apart from each other", spans},
	{"reading at a range does not move the position", readAtKeepsPosition},
	{"two readers of one object do not disturb each other", twoReaders},
}

// absent are keys under which nothing is found when only "folder/key" exists.
var absent = []string{"none", "folder", "folder/none", "folder/ke", "folder/key/below", "folder/key2"}

func openMissing(t *testing.T, s blob.Store) {
	put(t, s, "folder/key", "x")
	for _, key := range absent {
		if _, err := s.Open(t.Context(), key); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Open(%q) = %v; want fs.ErrNotExist", key, err)
		}
	}
}

func statMissing(t *testing.T, s blob.Store) {
	put(t, s, "folder/key", "x")
	for _, key := range absent {
		if _, err := s.Stat(t.Context(), key); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Stat(%q) = %v; want fs.ErrNotExist", key, err)
		}
	}
}

func openObject(t *testing.T, s blob.Store, key string) blob.Object {
	t.Helper()
	o, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatalf("Open(%q) = %v", key, err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

func objectReads(t *testing.T, s blob.Store) {
	want := noise(1, 5000)
	put(t, s, "key", want)
	// TestReader covers Read in all sizes, Seek from all places, and ReadAt.
	if err := iotest.TestReader(openObject(t, s, "key"), []byte(want)); err != nil {
		t.Error(err)
	}
}

func objectReadsAtBorders(t *testing.T, s blob.Store) {
	want := noise(2, 100_000)
	put(t, s, "key", want)
	o := openObject(t, s, "key")
	for _, r := range []struct {
		name   string
		off, n int
		eof    bool
	}{
		{"the first byte", 0, 1, false},
		{"the middle", 32_767, 32_770, false},
		{"the last byte", 99_999, 1, false},
		{"beyond the end", 99_990, 20, true},
		{"at the end", 100_000, 1, true},
		{"far after the end", 1 << 30, 10, true},
	} {
		buf := make([]byte, r.n)
		n, err := o.ReadAt(buf, int64(r.off))
		expect := want[min(r.off, len(want)):min(r.off+r.n, len(want))]
		if string(buf[:n]) != expect {
			t.Errorf("ReadAt %s gave %d bytes, want %d of the right ones", r.name, n, len(expect))
		}
		if r.eof && !errors.Is(err, io.EOF) || !r.eof && err != nil && !errors.Is(err, io.EOF) {
			t.Errorf("ReadAt %s = %v; want EOF: %t", r.name, err, r.eof)
		}
	}
}

func readAtKeepsPosition(t *testing.T, s blob.Store) {
	put(t, s, "key", "0123456789")
	o := openObject(t, s, "key")
	if _, err := o.Seek(4, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if _, err := o.ReadAt(make([]byte, 3), 7); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(o)
	if err != nil || string(rest) != "456789" {
		t.Errorf("after a seek to 4 and a ReadAt, the rest is %q, %v; want 456789", rest, err)
	}
	if end, err := o.Seek(0, io.SeekEnd); err != nil || end != 10 {
		t.Errorf("Seek to the end = %d, %v; want 10", end, err)
	}
}

func twoReaders(t *testing.T, s blob.Store) {
	put(t, s, "key", "0123456789")
	a, b := openObject(t, s, "key"), openObject(t, s, "key")
	var got strings.Builder
	for range 5 {
		for _, o := range []blob.Object{a, b} {
			if _, err := io.CopyN(&got, o, 2); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := "01012323454567678989"; got.String() != want {
		t.Errorf("two readers in turn read %s, want %s", got.String(), want)
	}
}

var pingCases = []testCase{
	{"an open store answers", func(t *testing.T, s blob.Store) {
		if err := s.Ping(t.Context()); err != nil {
			t.Errorf("Ping = %v", err)
		}
	}},
}

func spans(t *testing.T, s blob.Store) {
	want := noise(1, 100_000)
	put(t, s, "key", want)
	o := openObject(t, s, "key")
	first, second := o.Span(blob.Range{From: 10, To: 90_000}), o.Span(blob.Range{From: 50_000, To: 100_000})
	half := make([]byte, 40_000)
	if _, err := io.ReadFull(first, half); err != nil || string(half) != want[10:40_010] {
		t.Errorf("the first half of a span is read with %v", err)
	}
	for r, want := range map[io.ReadCloser]string{first: want[40_010:90_000], second: want[50_000:]} {
		if got, err := io.ReadAll(r); err != nil || string(got) != want {
			t.Errorf("a span gives %d bytes, %v; want %d", len(got), err, len(want))
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	unread := o.Span(blob.Range{From: 0, To: 5})
	if err := unread.Close(); err != nil {
		t.Error(err)
	}
}
