package blobtest

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
)

var putCases = []testCase{
	{"Put stores what the reader yields", putStores},
	{"Put takes any kind of reader", putTakesAnyReader},
	{"Put describes what it stored", putDescribes},
	{"Put stores an object of no bytes", putStoresNothing},
	{"Put replaces the whole object", putReplaces},
	{"Put of other bytes changes the ETag", putChangesETag},
	{"Put of a failing reader leaves nothing", putFailsClean},
	{"Put of a failing reader keeps the old object", putFailsKeepingOld},
	{"Put that is cancelled before it begins leaves nothing", putCancelledBefore},
	{"Put that is cancelled in the middle leaves nothing", putCancelledMidway},
}

func putStores(t *testing.T, s blob.Store) {
	for key, content := range map[string]string{
		"one":                    "x",
		"folder/one":             "some words",
		"a/b/c/d/e":              noise(1, 1000),
		"A-Z_0.9/large..mp4":     noise(2, 3<<20+1),
		strings.Repeat("k", 255): "a long name",
	} {
		put(t, s, key, content)
		wantContent(t, s, key, content)
	}
}

func putTakesAnyReader(t *testing.T, s blob.Store) {
	want := noise(3, 70_000)
	for name, r := range map[string]io.Reader{
		"half":      iotest.HalfReader(strings.NewReader(want)),
		"early-eof": iotest.DataErrReader(strings.NewReader(want)),
		"plain":     io.MultiReader(strings.NewReader(want[:1]), strings.NewReader(want[1:])),
	} {
		if _, err := s.Put(t.Context(), name, r); err != nil {
			t.Fatalf("Put(%q) = %v", name, err)
		}
		wantContent(t, s, name, want)
	}
}

func putDescribes(t *testing.T, s blob.Store) {
	info := put(t, s, "video/source", "four")
	if info.ETag == "" || strings.Contains(info.ETag, `"`) {
		t.Errorf("Put says that the ETag is %s; want one without quotes", info.ETag)
	}
	if age := time.Since(info.Modified).Abs(); age > 5*time.Minute {
		t.Errorf("Put says that the object was modified %v ago; want about now", age)
	}
	wantStat(t, s, info, "video/source", 4)
}

func putStoresNothing(t *testing.T, s blob.Store) {
	if info := put(t, s, "empty", ""); info.Size != 0 || info.ETag == "" {
		t.Errorf("Put of no bytes = %+v; want size 0 and an ETag", info)
	}
	wantContent(t, s, "empty", "")
}

func putReplaces(t *testing.T, s blob.Store) {
	put(t, s, "key", noise(4, 10_000))
	put(t, s, "key", "short")
	wantContent(t, s, "key", "short")
}

func putChangesETag(t *testing.T, s blob.Store) {
	seen := make(map[string]string)
	for _, content := range []string{"aaaa", "bbbb", "cccc", "dddd", "eeee", "ffff"} {
		info := put(t, s, "key", content)
		if earlier, ok := seen[info.ETag]; ok {
			t.Fatalf("%q and %q have the same ETag %s", earlier, content, info.ETag)
		}
		seen[info.ETag] = content
		for range 2 {
			if again := stat(t, s, "key"); again.ETag != info.ETag {
				t.Errorf("ETag is %s, after Put said %s", again.ETag, info.ETag)
			}
		}
	}
}

// breaking yields n bytes and then fails with err.
func breaking(n int, err error) io.Reader {
	return io.MultiReader(strings.NewReader(noise(5, n)), iotest.ErrReader(err))
}

func putFailsClean(t *testing.T, s blob.Store) {
	gone := errors.New("the client is gone")
	for _, n := range []int{0, 1, 1 << 20} {
		if _, err := s.Put(t.Context(), "folder/key", breaking(n, gone)); !errors.Is(err, gone) {
			t.Errorf("Put of a reader that fails after %d bytes = %v; want the reader's error", n, err)
		}
		wantMissing(t, s, "folder/key")
	}
}

func putFailsKeepingOld(t *testing.T, s blob.Store) {
	before := put(t, s, "key", "the old one")
	if _, err := s.Put(t.Context(), "key", breaking(1<<20, io.ErrUnexpectedEOF)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Put of a failing reader = %v; want the reader's error", err)
	}
	wantContent(t, s, "key", "the old one")
	if after := stat(t, s, "key"); after.ETag != before.ETag {
		t.Errorf("a failed Put changed the ETag from %s to %s", before.ETag, after.ETag)
	}
}

func putCancelledBefore(t *testing.T, s blob.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Put(ctx, "key", strings.NewReader("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("Put = %v; want context.Canceled", err)
	}
	wantMissing(t, s, "key")
}

func putCancelledMidway(t *testing.T, s blob.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := &cancelling{cancel: cancel, after: 300_000, limit: 64 << 20}
	if _, err := s.Put(ctx, "folder/key", r); !errors.Is(err, context.Canceled) {
		t.Errorf("Put = %v; want context.Canceled", err)
	}
	wantMissing(t, s, "folder/key")
}

// cancelling yields bytes, calls cancel after some, and goes on for as long as a
// store may need to notice.
type cancelling struct {
	cancel             func()
	after, limit, sent int
}

func (c *cancelling) Read(p []byte) (int, error) {
	if c.sent >= c.after {
		c.cancel()
	}
	if c.sent >= c.limit {
		return 0, errors.New("the store went on reading after its context had ended")
	}
	clear(p)
	c.sent += len(p)
	return len(p), nil
}
