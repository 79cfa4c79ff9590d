package disk_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob/disk"
)

// openKeyed opens the store in dir whose ETags are made with a key.
func openKeyed(t *testing.T, dir, key string) *disk.Store {
	t.Helper()
	s, err := disk.Open(dir, disk.Options{ETagKey: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// Players see ETags. They must not learn from them what the disk looks like.
func TestETagsTellNothingAboutTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openKeyed(t, dir, "secret")
	info := put(t, s, "key", strings.Repeat("x", 0xabcde))
	fi, err := os.Stat(filepath.Join(dir, "key"))
	if err != nil {
		t.Fatal(err)
	}
	for what, n := range map[string]uint64{
		"inode": fi.Sys().(*syscall.Stat_t).Ino,
		"time":  uint64(fi.ModTime().Unix()), "exact time": uint64(fi.ModTime().UnixNano()), "size": uint64(fi.Size()),
	} {
		for _, base := range []int{10, 16} {
			// A short number may be in it by chance.
			if text := strconv.FormatUint(n, base); len(text) > 4 && strings.Contains(info.ETag, text) {
				t.Errorf("the ETag %s shows the %s %s", info.ETag, what, text)
			}
		}
	}
	if len(info.ETag) != 32 || strings.Trim(info.ETag, "0123456789abcdef") != "" {
		t.Errorf("the ETag is %s; want 128 bits", info.ETag)
	}
}

func TestETagsDependOnTheKeyAndOutliveTheProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := put(t, openKeyed(t, dir, "secret"), "key", "content")
	for key, same := range map[string]bool{"secret": true, "another": false} {
		info, err := openKeyed(t, dir, key).Stat(t.Context(), "key")
		if err != nil || (info.ETag == first.ETag) != same {
			t.Errorf("with the key %s the ETag is %s, %v; before it was %s", key, info.ETag, err, first.ETag)
		}
	}
}

func BenchmarkStat(b *testing.B) {
	s, err := disk.Open(b.TempDir(), disk.Options{ETagKey: "secret"})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Put(b.Context(), "a/key", strings.NewReader("x")); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Stat(b.Context(), "a/key"); err != nil {
			b.Fatal(err)
		}
	}
}
