package s3_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/s3"
	"github.com/spool-video/spool/internal/backend/blob/s3/s3test"
)

const (
	mib  = 1 << 20
	part = 5 * mib // of the stores in these tests
)

// noise returns n bytes that do not repeat, so that a piece in the wrong place
// shows. Tests share them and must not change them: making them takes long.
func noise(n int) []byte {
	made, ok := noises.Load(n)
	if !ok {
		b := make([]byte, n)
		_, _ = rand.NewChaCha8([32]byte{byte(n)}).Read(b)
		made, _ = noises.LoadOrStore(n, b)
	}
	return made.([]byte)
}

var noises sync.Map // by length

func put(t *testing.T, s *s3.Store, key string, content []byte) blob.Info {
	t.Helper()
	info, err := s.Put(t.Context(), key, bytes.NewReader(content))
	if err != nil {
		t.Fatalf("Put = %v", err)
	}
	return info
}

// wantObject fails the test unless key holds want.
func wantObject(t *testing.T, s *s3.Store, key string, want []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := s.Fetch(t.Context(), key, "", path); err != nil {
		t.Errorf("Fetch(%q) = %v", key, err)
		return
	}
	wantFile(t, path, want)
}

func wantFile(t *testing.T, path string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the file has %d bytes, %v; want these %d", len(got), err, len(want))
	}
}

func wantNoFile(t *testing.T, path string) {
	t.Helper()
	if fi, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file of %d bytes was left", fi.Size())
	}
}

func wantNoObject(t *testing.T, s *s3.Store, key string) {
	t.Helper()
	if info, err := s.Stat(t.Context(), key); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat(%q) = %+v, %v; want fs.ErrNotExist", key, info, err)
	}
}

// unfinished returns how many uploads in parts a bucket holds.
func unfinished(t *testing.T, server *s3test.Server, bucket string) int {
	t.Helper()
	out, err := server.Client().ListMultipartUploads(t.Context(), &sdk.ListMultipartUploadsInput{Bucket: &bucket})
	if err != nil {
		t.Fatal(err)
	}
	return len(out.Uploads)
}

// localFile makes a local file with content.
func localFile(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
