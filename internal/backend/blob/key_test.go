package blob_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
)

func TestCheckKey(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", blob.MaxElement)
	tests := []struct {
		name, key string
		good      bool
	}{
		{"one element", "key", true},
		{"several elements", "private/0195-ab/720p.mp4", true},
		{"all kinds of characters", "aZ09._-/-/_", true},
		{"dots inside and at the end", "a..b/c.", true},
		{"the longest element", long, true},
		{"exactly the greatest length", long + "/" + long[:254] + "/k", true},
		{"one byte more than the greatest length", long + "/" + long[:254] + "/kk", false},
		{"an element one byte too long", long + "k", false},
		{"nothing", "", false},
		{"a slash", "/", false},
		{"an absolute path", "/etc/passwd", false},
		{"a slash at the end", "a/", false},
		{"two slashes", "a//b", false},
		{"this folder", ".", false},
		{"the parent folder", "..", false},
		{"a way out", "a/../../b", false},
		{"a hidden file", ".hidden", false},
		{"a hidden file in a folder", "a/.tmp-1", false},
		{"a backslash", `a\b`, false},
		{"a space", "a b", false},
		{"a zero byte", "a\x00", false},
		{"a new line", "a\n", false},
		{"a letter that is not ASCII", "é", false},
		{"bytes that are not UTF-8", "a\xff", false},
		{"a drive", "C:a", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := blob.CheckKey(tt.key)
			if tt.good && err != nil || !tt.good && !errors.Is(err, blob.ErrBadKey) {
				t.Errorf("CheckKey(%q) = %v; want good: %t", tt.key, err, tt.good)
			}
		})
	}
}

// keyForm is the contract's sentence about keys, in another language than
// CheckKey's.
var keyForm = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,254}(/[A-Za-z0-9_-][A-Za-z0-9._-]{0,254})*\z`)

func FuzzCheckKey(f *testing.F) {
	for _, seed := range []string{"a", "a/b.c", "../a", "a/../b", "/a", "a//b", ".a", "a/.", "a\x00", "ü", `..\a`, "a\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, key string) {
		err := blob.CheckKey(key)
		if good := keyForm.MatchString(key) && len(key) <= blob.MaxKey; good != (err == nil) {
			t.Fatalf("CheckKey(%q) = %v; the contract says good: %t", key, err, good)
		}
		if err != nil {
			if !errors.Is(err, blob.ErrBadKey) {
				t.Fatalf("CheckKey(%q) = %v; want ErrBadKey", key, err)
			}
			return
		}
		root := filepath.Join(string(filepath.Separator), "root")
		joined := filepath.Join(root, filepath.FromSlash(key))
		back, err := filepath.Rel(root, joined)
		if err != nil || filepath.ToSlash(back) != key || !filepath.IsLocal(back) || !fs.ValidPath(key) {
			t.Fatalf("key %q leads from %s to %s (%v)", key, root, joined, err)
		}
	})
}

func TestContentType(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"private/film/720p.mp4": "video/mp4", "public/film/1.jpg": "image/jpeg",
		"work/film/audio": "application/octet-stream", "a.jpg/source": "application/octet-stream",
	} {
		if got := blob.ContentType(key); got != want {
			t.Errorf("ContentType(%q) = %q, want %q", key, got, want)
		}
	}
}
