package settings

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestSizes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want ByteSize // -1: refused
	}{
		{"5GiB", 5 << 30}, {"500MB", 500e6}, {"1.5 kib", 1536}, {"1048576", 1 << 20}, {"7b", 7}, {"0", 0}, {"2TB", 2e12},
		{"", -1}, {"GiB", -1}, {"-1MB", -1}, {"5 apples", -1}, {"1e30", -1}, {"NaN", -1}, {"inf", -1}, {"5GiBB", -1},
	}
	for _, tt := range tests {
		var b ByteSize
		err := b.UnmarshalText([]byte(tt.text))
		if (err != nil) != (tt.want == -1) || (err == nil && b != tt.want) {
			t.Errorf("size %q = %d, %v; want %d", tt.text, b, err, tt.want)
		}
	}
}

func TestNearestSetting(t *testing.T) {
	t.Parallel()
	names := []string{"data-dir", "listen", "api-key", "log-level", "log-format", "upload-url-ttl", "workers"}
	for typo, want := range map[string]string{
		"data-dir": "data_dir", "lisen": "listen", "ApiKey": "api_key", "log_lvl": "log_level", "uploadurlttl": "upload_url_ttl",
	} {
		if got := nearest(typo, names); got != want {
			t.Errorf("nearest setting to %q is %q, want %q", typo, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"", "ab", 2}, {"kitten", "sitting", 3}, {"listen", "lisen", 1}, {"same", "same", 0}}
	for _, tt := range tests {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

// fileOf is a file with an owner.
type fileOf struct {
	mode fs.FileMode
	uid  uint32
}

func (f fileOf) Name() string       { return "spool.toml" }
func (f fileOf) Size() int64        { return 0 }
func (f fileOf) Mode() fs.FileMode  { return f.mode }
func (f fileOf) ModTime() time.Time { return time.Time{} }
func (f fileOf) IsDir() bool        { return false }
func (f fileOf) Sys() any           { return &syscall.Stat_t{Uid: f.uid} }

func TestFilesOfOthersAreNotTrusted(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		user    int
		file    fileOf
		trusted bool
	}{
		{"my own", 1000, fileOf{0o644, 1000}, true},
		{"root's", 1000, fileOf{0o644, 0}, true},
		{"my own, which my group can change", 1000, fileOf{0o664, 1000}, true},
		{"somebody else's", 1000, fileOf{0o644, 1001}, false},
		{"somebody else's, for root", 0, fileOf{0o644, 1001}, false},
		{"my own, which everybody can change", 1000, fileOf{0o646, 1000}, false},
	}
	for _, tt := range tests {
		s := &Settings{User: tt.user}
		if why := s.distrust(tt.file); (why == "") != tt.trusted {
			t.Errorf("%s: %q; want trusted: %v", tt.name, why, tt.trusted)
		}
	}
}

// Somebody else may put anything into the folder in which a command is run.
func TestOnlyAnOrdinaryFileIsFound(t *testing.T) {
	t.Parallel()
	dir, user := t.TempDir(), os.Getuid()
	pipe, link := filepath.Join(dir, "pipe.toml"), filepath.Join(dir, "link.toml")
	err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink("/etc/passwd", link)) // a file of root's, whoever made the link
	if user == 0 {
		err = errors.Join(err, os.Lchown(link, 65534, -1))
	} else {
		user++
	}
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{pipe: "no ordinary file", dir: "no ordinary file", link: "the link to this file"} {
		if _, _, err := (&Settings{User: user}).read(path, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", path, err, want)
		}
	}
}
