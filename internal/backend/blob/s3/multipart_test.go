package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/iotest"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/s3"
	"github.com/spool-video/spool/internal/backend/blob/s3/s3test"
)

// inBucket returns a store in a bucket of its own.
func inBucket(t *testing.T, server *s3test.Server) (s *s3.Store, bucket string) {
	t.Helper()
	bucket = server.Bucket(t)
	return open(t, server, server.URL(bucket, "spool")), bucket
}

func TestPutChoosesPartsBySize(t *testing.T) {
	t.Parallel()
	s, p := behind(t, s3test.Start(t))
	parts := func(n int) map[string]int { return map[string]int{"begin": 1, "part": n, "complete": 1} }
	for _, tt := range []struct {
		size int
		want map[string]int
	}{
		{0, map[string]int{"put": 1}},
		{1, map[string]int{"put": 1}},
		{part - 1, map[string]int{"put": 1}},
		{part, parts(1)}, // whether more follows is not known yet
		{part + 1, parts(2)},
		{2 * part, parts(2)},
		{2*part + 1, parts(3)},
		{6*part + 12345, parts(7)},
	} {
		t.Run(fmt.Sprint(tt.size, " bytes"), func(t *testing.T) {
			p.reset()
			content := noise(tt.size)
			info := put(t, s, "key", content)
			if diff := cmp.Diff(tt.want, p.counted()); diff != "" {
				t.Errorf("the requests are not those wanted:\n%s", diff)
			}
			wantSame(t, s, info, tt.size)
			wantObject(t, s, "key", content)
		})
	}
}

// wantSame fails the test unless info is what Stat says.
func wantSame(t *testing.T, s *s3.Store, info blob.Info, size int) {
	t.Helper()
	got, err := s.Stat(t.Context(), info.Key)
	if err != nil || got.ETag != info.ETag || got.Size != int64(size) || info.Size != int64(size) {
		t.Errorf("a write said %+v, and Stat says %+v, %v; want the same and %d bytes", info, got, err, size)
	}
}

func TestPutFileChoosesPartsBySize(t *testing.T) {
	t.Parallel()
	s, p := behind(t, s3test.Start(t))
	for _, tt := range []struct {
		size int
		want map[string]int
	}{
		{0, map[string]int{"put": 1}},
		{4 * part, map[string]int{"put": 1}},
		{4*part + 1, map[string]int{"begin": 1, "part": 5, "complete": 1}},
	} {
		t.Run(fmt.Sprint(tt.size, " bytes"), func(t *testing.T) {
			p.reset()
			content := noise(tt.size)
			path := localFile(t, content)
			info, err := s.PutFile(t.Context(), "film.mp4", path)
			if err != nil {
				t.Fatalf("PutFile = %v", err)
			}
			if diff := cmp.Diff(tt.want, p.counted()); diff != "" {
				t.Errorf("the requests are not those wanted:\n%s", diff)
			}
			wantSame(t, s, info, tt.size)
			wantObject(t, s, "film.mp4", content)
			wantNoFile(t, path)
		})
	}
}

func TestWriteInPartsThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	s, bucket := inBucket(t, server)
	gone := errors.New("the client is gone")
	ctx, cancel := context.WithCancel(t.Context())
	for name, tt := range map[string]struct {
		ctx  context.Context
		r    io.Reader
		want error
	}{
		"the reader fails":   {t.Context(), iotest.ErrReader(gone), gone},
		"the context ends":   {ctx, readFunc(func(p []byte) (int, error) { cancel(); return len(p), nil }), context.Canceled},
		"the reader is late": {t.Context(), io.MultiReader(bytes.NewReader(noise(2*part)), iotest.ErrReader(gone)), gone},
	} {
		_, err := s.Put(tt.ctx, "key", io.MultiReader(bytes.NewReader(noise(part+1)), tt.r))
		if !errors.Is(err, tt.want) {
			t.Errorf("when %s, Put = %v; want %v", name, err, tt.want)
		}
		wantNoObject(t, s, "key")
		if n := unfinished(t, server, bucket); n != 0 {
			t.Errorf("when %s, %d unfinished uploads are left", name, n)
		}
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func TestReaderThatPanicsLeavesNothing(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	s, bucket := inBucket(t, server)
	func() {
		defer func() { _ = recover() }()
		_, _ = s.Put(t.Context(), "key", io.MultiReader(bytes.NewReader(noise(part+1)), readFunc(func([]byte) (int, error) { panic("a bug") })))
		t.Error("the panic was lost")
	}()
	wantNoObject(t, s, "key")
	if n := unfinished(t, server, bucket); n != 0 {
		t.Errorf("%d unfinished uploads are left", n)
	}
}

func TestAbortUnfinishedTakesBackWhatItIsToldTo(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	if server.Program == "minio" {
		t.Skip("MinIO does not list unfinished uploads by prefix; it removes them by itself")
	}
	bucket := server.Bucket(t)
	for _, key := range []string{"spool/a/1", "spool/a/1", "spool/b", "another/c", "spool2/d", "spool/not ours"} {
		if _, err := server.Client().CreateMultipartUpload(t.Context(), &sdk.CreateMultipartUploadInput{Bucket: &bucket, Key: &key}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := s3.Open(t.Context(), server.URL(bucket, "spool"), quick(server))
	if err != nil {
		t.Fatal(err)
	}
	older := func(age time.Duration) func(string, time.Time) (bool, error) {
		return func(_ string, begun time.Time) (bool, error) { return time.Since(begun) > age, nil }
	}
	fault := errors.New("the database does not answer")
	for _, tt := range []struct {
		prefix        string
		drop          func(key string, begun time.Time) (bool, error)
		aborted, left int
		err           error
	}{
		{"", older(time.Hour), 0, 6, nil},
		{"", func(string, time.Time) (bool, error) { return true, fault }, 0, 6, fault},
		{"c", older(-time.Hour), 0, 6, nil},
		{"a/", older(-time.Hour), 2, 4, nil},
		{"", older(-time.Hour), 1, 3, nil},
		{"", older(-time.Hour), 0, 3, nil},
	} {
		if n, err := s.AbortUnfinished(t.Context(), tt.prefix, tt.drop); !errors.Is(err, tt.err) || n != tt.aborted {
			t.Errorf("AbortUnfinished(%q) = %d, %v; want %d, %v", tt.prefix, n, err, tt.aborted, tt.err)
		}
		if n := unfinished(t, server, bucket); n != tt.left {
			t.Errorf("%d unfinished uploads are left; want %d", n, tt.left)
		}
	}
}

func TestCopyInParts(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	s, p := behind(t, server)
	s3.CopyInParts(s, 2*part-1, part)
	content := noise(2*part + 1)
	source := put(t, s, "source", content)
	p.reset()
	info, err := s.Copy(t.Context(), "source", "film.mp4", source.ETag)
	if err != nil {
		t.Fatalf("Copy = %v", err)
	}
	if diff := cmp.Diff(map[string]int{"head": 1, "begin": 1, "copy": 3, "complete": 1}, p.counted()); diff != "" {
		t.Errorf("the requests are not those wanted:\n%s", diff)
	}
	wantSame(t, s, info, len(content))
	wantObject(t, s, "film.mp4", content)
}

func TestCopyInPartsOfAReplacedObjectLeavesNothing(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	bucket := server.Bucket(t)
	p := newProxy(t, server)
	s := open(t, server, through(p, server.URL(bucket, "spool"), server))
	s3.CopyInParts(s, part, part)
	source := put(t, s, "source", noise(2*part))
	p.spoilWith(func(op string, n int) spoiler {
		if op == "begin" { // the size and the ETag of the source are known by now
			put(t, open(t, server, server.URL(bucket, "spool")), "source", noise(2*part+1))
		}
		return nil
	})
	if _, err := s.Copy(t.Context(), "source", "to", source.ETag); !errors.Is(err, blob.ErrChanged) {
		t.Errorf("Copy = %v; want ErrChanged", err)
	}
	wantNoObject(t, s, "to")
	if n := unfinished(t, server, bucket); n != 0 {
		t.Errorf("%d unfinished uploads are left", n)
	}
}

// An answer that is lost on its way makes a completed object look like an upload
// that nobody began.
func TestCompletionWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	s, p := behind(t, s3test.Start(t))
	noUpload := answer(http.StatusNotFound, "NoSuchUpload")
	p.spoilWith(func(op string, n int) spoiler {
		switch {
		case op == "complete" && n == 1:
			return s3test.Swallow
		case op == "complete":
			return noUpload
		}
		return nil
	})
	content := noise(part + 1)
	wantSame(t, s, put(t, s, "done", content), len(content))
	wantObject(t, s, "done", content)

	p.spoilWith(always("complete", noUpload))
	put(t, s, "other", []byte("the old one"))
	for _, key := range []string{"none", "other"} {
		if info, err := s.Put(t.Context(), key, bytes.NewReader(content)); err == nil {
			t.Errorf("Put = %+v, although its upload was lost", info)
		}
	}
}
