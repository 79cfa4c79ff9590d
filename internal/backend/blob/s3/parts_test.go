package s3_test

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/s3/s3test"
)

func TestFetchPartsFillsAFileWithHoles(t *testing.T) {
	t.Parallel()
	s, p := behind(t, s3test.Start(t))
	content := noise(40*mib + 123)
	put(t, s, "key", content)
	size := int64(len(content))
	for _, tt := range []struct {
		name   string
		ranges []blob.Range
		gets   int
	}{
		{"beginning, middle and end", []blob.Range{{From: 0, To: 1000}, {From: 20 * mib, To: 21 * mib}, {From: size - 5, To: size}}, 3},
		{"a long range is shared out", []blob.Range{{From: 1 * mib, To: 36 * mib}}, 3},
		{"what is beyond the end is left out", []blob.Range{{From: size - 10, To: size + 10}, {From: size, To: size + 5}}, 1},
		{"nothing at all", nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p.reset()
			path := filepath.Join(t.TempDir(), "part")
			info, sparse, err := s.FetchParts(t.Context(), "key", path, tt.ranges)
			if err != nil || !sparse || info.Size != size || info.ETag == "" {
				t.Fatalf("FetchParts = %+v, sparse: %t, %v; want %d bytes", info, sparse, err, size)
			}
			want := map[string]int{"head": 1, "get": tt.gets}
			if tt.gets == 0 {
				delete(want, "get")
			}
			if diff := cmp.Diff(want, p.counted()); diff != "" {
				t.Errorf("the requests are not those wanted:\n%s", diff)
			}
			checkHoles(t, path, content, tt.ranges)
		})
	}
}

// checkHoles makes sure that a file has these parts of content, zeros elsewhere,
// and takes hardly more disk space than they do.
func checkHoles(t *testing.T, path string, content []byte, ranges []blob.Range) {
	t.Helper()
	want := make([]byte, len(content))
	sum := int64(0)
	for _, r := range ranges {
		sum += int64(copy(want[r.From:], content[r.From:min(r.To, int64(len(content)))]))
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != string(want) {
		t.Errorf("the file is not what the ranges make (%v)", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	const slack = 64 << 10 // blocks that are used in part
	if used := info.Sys().(*syscall.Stat_t).Blocks * 512; used > sum+slack {
		t.Errorf("the file takes %d bytes of disk for %d", used, sum)
	}
}

func TestFetchPartsIsWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	s, p := behind(t, s3test.Start(t))
	content := noise(2 * mib)
	put(t, s, "key", content)
	path := filepath.Join(t.TempDir(), "part")
	ranges := []blob.Range{{From: 0, To: 1000}, {From: 1 * mib, To: 2 * mib}}
	p.spoilWith(first("get", 1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		put(t, s, "key", noise(2*mib+1))
		next.ServeHTTP(w, r)
	}))
	if _, _, err := s.FetchParts(t.Context(), "key", path, ranges); !errors.Is(err, blob.ErrChanged) {
		t.Errorf("FetchParts of an object that is replaced meanwhile = %v; want ErrChanged", err)
	}
	p.reset()
	if _, _, err := s.FetchParts(t.Context(), "none", path, ranges); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("FetchParts of nothing = %v; want fs.ErrNotExist", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p.spoilWith(func(op string, n int) spoiler {
		if op == "get" {
			cancel()
		}
		return nil
	})
	if _, _, err := s.FetchParts(ctx, "key", path, ranges); !errors.Is(err, context.Canceled) {
		t.Errorf("FetchParts that is stopped = %v; want context.Canceled", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a failed FetchParts left a file (%v)", err)
	}
}

func TestFetchPartsGoesOnWhereAConnectionBroke(t *testing.T) {
	t.Parallel()
	s, p := behind(t, s3test.Start(t))
	content := noise(4 * mib)
	put(t, s, "key", content)
	p.spoilWith(first("get", 1, cut(100_000)))
	path := filepath.Join(t.TempDir(), "part")
	ranges := []blob.Range{{From: mib, To: 3 * mib}}
	if _, _, err := s.FetchParts(t.Context(), "key", path, ranges); err != nil {
		t.Fatalf("FetchParts = %v", err)
	}
	checkHoles(t, path, content, ranges)
}
