package s3

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
)

func TestFetch(t *testing.T) {
	t.Parallel()
	v, s := serve(3 << 20)
	s.cut = func(n int) int { return map[bool]int{true: 1 << 20, false: -1}[n == 1] }
	path := filepath.Join(t.TempDir(), "file")
	if err := v.fetch(t.Context(), path, nil); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, s.content) {
		t.Errorf("the file has %d bytes, %v, or other ones", len(got), err)
	}
	if err := v.fetch(t.Context(), path, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Fetch to a file that exists = %v; want fs.ErrExist", err)
	}
	s.wantNoneOpen(t)
}

func TestFetchPartsSharesOutLongRanges(t *testing.T) {
	t.Parallel()
	size := int64(2*downloadSize + 123)
	v, s := serve(int(size))
	path := filepath.Join(t.TempDir(), "file")
	ranges := []blob.Range{{From: -5, To: 10}, {From: 1000, To: downloadSize + 2000}, {From: size - 5, To: size + 5}, {From: size, To: size + 1}}
	if err := v.fetchParts(t.Context(), path, ranges); err != nil {
		t.Fatal(err)
	}
	s.wantRequests(t, 4, "three ranges, one of them long")
	want := make([]byte, size)
	for _, r := range ranges {
		r.From, r.To = max(r.From, 0), min(r.To, size)
		if r.From < r.To {
			copy(want[r.From:r.To], s.content[r.From:r.To])
		}
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the file has %d bytes, %v, or other ones", len(got), err)
	}
	s.wantNoneOpen(t)
}

func TestFetchThatFailsLeavesNoFile(t *testing.T) {
	t.Parallel()
	v, s := serve(1000)
	all := []blob.Range{{To: 1000}}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name  string
		err   error
		fetch func(path string) error
	}{
		{"Fetch", blob.ErrChanged, func(path string) error { return v.fetch(t.Context(), path, nil) }},
		{"FetchParts", blob.ErrChanged, func(path string) error { return v.fetchParts(t.Context(), path, all) }},
		{"a FetchParts that is cancelled", context.Canceled, func(path string) error { return v.fetchParts(cancelled, path, all) }},
	} {
		s.err = blob.ErrChanged
		path := filepath.Join(t.TempDir(), "file")
		if err := tt.fetch(path); !errors.Is(err, tt.err) {
			t.Errorf("%s = %v; want %v", tt.name, err, tt.err)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s left a file (%v)", tt.name, err)
		}
		// Only the object may be called missing.
		if err := tt.fetch(filepath.Join(path, "no", "folder")); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s into a missing folder = %v; want an error other than fs.ErrNotExist", tt.name, err)
		}
	}
}
