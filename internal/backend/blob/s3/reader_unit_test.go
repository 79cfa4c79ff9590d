package s3

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
)

func TestReaderReopensBrokenConnections(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for _, tt := range []struct {
		name     string
		cut      func(request int) int
		requests int
		broken   bool
	}{
		{"a good connection", nil, 1, false},
		{"one break", func(n int) int { return map[int]int{1: 1000}[n] - map[bool]int{true: 1}[n > 1] }, 2, false},
		{"breaks far from each other", func(int) int { return mib }, 8, false},
		{"breaks close to each other", func(int) int { return 10 }, 6, true},
		{"responses without a byte", func(int) int { return 0 }, 6, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v, s := serve(8*mib + 2)
			s.cut = tt.cut
			r := v.newReader(t.Context(), blob.Range{From: 1, To: 8*mib + 1}, nil)
			defer r.Close()
			got, err := io.ReadAll(r)
			if broken := errors.Is(err, errBroken); broken != tt.broken || (err != nil) != broken {
				t.Errorf("reading ends with %v; want broken: %t", err, tt.broken)
			}
			if want := s.content[1 : 1+len(got)]; !bytes.Equal(got, want) || !tt.broken && len(got) != 8*mib {
				t.Errorf("%d bytes were read, or other ones", len(got))
			}
			s.wantRequests(t, tt.requests, "reading")
			s.wantNoneOpen(t)
		})
	}
}

// A response that ends too soon without an error is a break as well.
func TestReaderNoticesShortResponses(t *testing.T) {
	t.Parallel()
	v, s := serve(1000)
	short := io.NopCloser(bytes.NewReader(s.content[:400]))
	got, err := io.ReadAll(v.newReader(t.Context(), blob.Range{To: 1000}, short))
	if err != nil || !bytes.Equal(got, s.content) {
		t.Errorf("%d bytes were read, %v; want all", len(got), err)
	}
	s.wantRequests(t, 1, "for the rest")
}

func TestReaderGivesUp(t *testing.T) {
	t.Parallel()
	v, s := serve(1000)
	s.err = blob.ErrChanged
	if _, err := v.newReader(t.Context(), blob.Range{To: 10}, nil).Read(make([]byte, 10)); err != blob.ErrChanged {
		t.Errorf("Read = %v; want the very error of the request", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.err = nil
	s.cut = func(int) int { cancel(); return 5 }
	if n, err := io.Copy(io.Discard, v.newReader(ctx, blob.Range{To: 10}, nil)); n != 5 || !errors.Is(err, context.Canceled) {
		t.Errorf("Read = %d, %v; want context.Canceled after 5 bytes", n, err)
	}
	s.wantNoneOpen(t)
}

func TestRangeHeaders(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		contentRange   string
		length         int64
		off, end, size int64
		good           bool
	}{
		{"bytes 5-9/20", 5, 5, 10, 20, true},
		{"bytes 5-9/21", 5, 5, 10, 20, false},
		{"bytes 4-9/20", 6, 5, 10, 20, false},
		{"", 20, 0, 20, 20, true},
		{"", 20, 5, 10, 20, false},
		{"", 19, 0, 20, 20, false},
	} {
		if err := checkRange(tt.contentRange, tt.length, tt.off, tt.end, tt.size); (err == nil) != tt.good {
			t.Errorf("checkRange%+v = %v", tt, err)
		}
	}
	if got := byteRange(5, 10); got != "bytes=5-9" {
		t.Errorf("byteRange = %q", got)
	}
	for contentRange, want := range map[string]int64{"bytes 0-4/17": 17, "": 5, "bytes 0-4/*": -1, "nonsense": -1} {
		if got, err := totalSize(contentRange, 5); (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("totalSize(%q) = %d, %v; want %d", contentRange, got, err, want)
		}
	}
}
