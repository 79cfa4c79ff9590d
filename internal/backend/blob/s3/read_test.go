package s3_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/s3"
	"github.com/spool-video/spool/internal/backend/blob/s3/s3test"
)

func openObject(t *testing.T, s *s3.Store, key string) blob.Object {
	t.Helper()
	o, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatalf("Open = %v", err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

func TestObjectReadsAllWays(t *testing.T) {
	t.Parallel()
	s, _ := inBucket(t, s3test.Start(t))
	content := noise(150_017) // more than what any read keeps
	put(t, s, "key", content)
	if err := iotest.TestReader(openObject(t, s, "key"), content); err != nil {
		t.Error(err)
	}
}

// How an object is read decides how many requests are made.
func TestReadsMakeFewRequests(t *testing.T) {
	t.Parallel()
	s, p := behind(t, s3test.Start(t))
	content := noise(12*mib + 345)
	put(t, s, "key", content)
	size := int64(len(content))
	for _, tt := range []struct {
		name string
		gets int
		read func(t *testing.T, o blob.Object)
	}{
		{"opening and its first bytes", 1, func(t *testing.T, o blob.Object) {
			wantAt(t, o, content, 0, 8<<10)
			wantAt(t, o, content, 100, 16)
		}},
		{"all of it, in small reads", 2, func(t *testing.T, o blob.Object) {
			wantRest(t, struct{ io.Reader }{o}, content, 32<<10)
		}},
		{"from the middle on", 2, func(t *testing.T, o blob.Object) {
			if _, err := o.Seek(size/2, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			wantRest(t, struct{ io.Reader }{o}, content[size/2:], 32<<10)
		}},
		{"all of it, as sections that follow each other", 3, func(t *testing.T, o blob.Object) {
			wantRest(t, io.NewSectionReader(o, 0, size), content, 256<<10)
		}},
		{"the structure at its end, then all the rest", 4, func(t *testing.T, o blob.Object) {
			for off := size - 20_000; off < size; off += 5000 {
				wantAt(t, o, content, off, 16)
			}
			wantRest(t, io.NewSectionReader(o, 48, size-48), content[48:], 256<<10)
		}},
		{"one large piece", 2, func(t *testing.T, o blob.Object) { wantAt(t, o, content, 5*mib, 2*mib) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p.reset()
			tt.read(t, openObject(t, s, "key"))
			if diff := cmp.Diff(map[string]int{"get": tt.gets}, p.counted()); diff != "" {
				t.Errorf("the requests are not those wanted:\n%s", diff)
			}
		})
	}
}

func wantAt(t *testing.T, o io.ReaderAt, content []byte, off int64, n int) {
	t.Helper()
	got := make([]byte, n)
	if _, err := o.ReadAt(got, off); err != nil || !bytes.Equal(got, content[off:off+int64(n)]) {
		t.Errorf("ReadAt(%d bytes, %d) = %v; or it gave other bytes", n, off, err)
	}
}

// wantRest reads r to its end in steps of this size.
func wantRest(t *testing.T, r io.Reader, want []byte, step int) {
	t.Helper()
	var got bytes.Buffer
	if _, err := io.CopyBuffer(struct{ io.Writer }{&got}, r, make([]byte, step)); err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("reading gave %d bytes, %v; want these %d", got.Len(), err, len(want))
	}
}

func TestReadersAtOnceShareAnObject(t *testing.T) {
	t.Parallel()
	s, _ := inBucket(t, s3test.Start(t))
	content := noise(4 * mib)
	put(t, s, "key", content)
	o := openObject(t, s, "key")
	var wg sync.WaitGroup
	for i := range int64(8) {
		wg.Go(func() {
			for off := i * 1000; off < 4*mib-300_000; off += mib {
				wantAt(t, o, content, off, 300_000)
				wantAt(t, o, content, off, 100)
			}
		})
	}
	wg.Wait()
}

func TestOpenObjectIsPinnedToItsVersion(t *testing.T) {
	t.Parallel()
	s, _ := inBucket(t, s3test.Start(t))
	first, second := noise(mib), noise(mib+1)
	for name, read := range map[string]func(o blob.Object) error{
		"reading on":       func(o blob.Object) error { _, err := io.Copy(io.Discard, o); return err },
		"reading at":       func(o blob.Object) error { _, err := o.ReadAt(make([]byte, 10), 500_000); return err },
		"reading at, much": func(o blob.Object) error { _, err := o.ReadAt(make([]byte, 100_000), 500_000); return err },
	} {
		put(t, s, "key", first)
		o := openObject(t, s, "key")
		put(t, s, "key", second)
		if err := read(o); !errors.Is(err, blob.ErrChanged) {
			t.Errorf("%s a replaced object = %v; want ErrChanged", name, err)
		}
		if err := s.Delete(t.Context(), "key"); err != nil {
			t.Fatal(err)
		}
		if err := read(o); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s a deleted object = %v; want fs.ErrNotExist", name, err)
		}
	}
}

func TestReadingEndsWithTheContextAndWithClose(t *testing.T) {
	t.Parallel()
	s, _ := inBucket(t, s3test.Start(t))
	put(t, s, "key", noise(mib))
	ctx, cancel := context.WithCancel(t.Context())
	o, err := s.Open(ctx, "key")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := o.ReadAt(make([]byte, 10), 500_000); !errors.Is(err, context.Canceled) {
		t.Errorf("ReadAt after the context ended = %v; want context.Canceled", err)
	}
	if err := o.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	_, errAt := o.ReadAt(make([]byte, 10), 0)
	_, errRead := o.Read(make([]byte, 10))
	if !errors.Is(errAt, fs.ErrClosed) || !errors.Is(errRead, fs.ErrClosed) {
		t.Errorf("after Close, ReadAt = %v and Read = %v; want fs.ErrClosed", errAt, errRead)
	}
}

func TestRequestsOfOtherOperations(t *testing.T) {
	t.Parallel()
	s, p := behind(t, s3test.Start(t))
	put(t, s, "key", noise(mib))
	ctx := t.Context()
	for _, tt := range []struct {
		name string
		do   func() error
		want map[string]int
	}{
		{"Stat", func() error { _, err := s.Stat(ctx, "key"); return err }, map[string]int{"head": 1}},
		{"Fetch", func() error { return s.Fetch(ctx, "key", "", t.TempDir()+"/file") }, map[string]int{"get": 1}},
		{"Copy", func() error { _, err := s.Copy(ctx, "key", "copy", ""); return err }, map[string]int{"head": 1, "copy": 1}},
		{"List", func() error { return lastError(ctx, s) }, map[string]int{"list": 1}},
		{"Ping", func() error { return s.Ping(ctx) }, map[string]int{"list": 1}},
		{"Delete", func() error { return s.Delete(ctx, "key", "copy", "none") }, map[string]int{"delete": 1}},
		{"PresignPut", func() error { _, err := s.Capabilities().Presign.PresignPut(ctx, "key", "video/mp4", 1e9); return err }, map[string]int{}},
	} {
		p.reset()
		if err := tt.do(); err != nil {
			t.Errorf("%s = %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, p.counted()); diff != "" {
			t.Errorf("the requests of %s are not those wanted:\n%s", tt.name, diff)
		}
	}
}

func lastError(ctx context.Context, s *s3.Store) (last error) {
	for _, err := range s.List(ctx, "") {
		last = err
	}
	return last
}
