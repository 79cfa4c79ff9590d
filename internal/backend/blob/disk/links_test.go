package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
)

func openStore(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func store(t *testing.T, s *Store, key, content string) blob.Info {
	t.Helper()
	info, err := s.Put(t.Context(), key, strings.NewReader(content))
	if err != nil {
		t.Fatalf("Put(%q) = %v", key, err)
	}
	return info
}

func content(t *testing.T, s *Store, key string) string {
	t.Helper()
	o, err := s.raw.open(key)
	if err != nil {
		t.Fatalf("open %q = %v", key, err)
	}
	defer o.Close()
	b, err := io.ReadAll(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestCopyAndFetchShareTheFile(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	info := store(t, s, "from", "x")
	path := filepath.Join(t.TempDir(), "fetched")
	copied, err := s.Copy(t.Context(), "from", "a/to", info.ETag)
	if err = errors.Join(err, s.Fetch(t.Context(), "from", info.ETag, path)); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(path)
	if err != nil || links(fi) != 3 {
		t.Errorf("the file has %d names, %v; want 3", links(fi), err)
	}
	if copied.ETag != info.ETag {
		t.Errorf("the copy's ETag is %s; want %s, as for all names of one file", copied.ETag, info.ETag)
	}
}

// A fetched file shares its inode with the object, so handing it back must not
// stamp it.
func TestPutFileOfASharedFileKeepsTheOtherObject(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	before := store(t, s, "from", "shared")
	path := filepath.Join(t.TempDir(), "fetched")
	if err := s.Fetch(t.Context(), "from", "", path); err != nil {
		t.Fatal(err)
	}
	info, err := s.PutFile(t.Context(), "to", path)
	if err != nil || info.ETag == before.ETag {
		t.Errorf("PutFile = %+v, %v; want a file of its own", info, err)
	}
	if after, err := s.Stat(t.Context(), "from"); err != nil || after != before {
		t.Errorf("the first object is %+v, %v; want %+v", after, err, before)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file was not taken over (%v)", err)
	}
}

func TestPutFileGivesTheUsualMode(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutFile(t.Context(), "key", path); err != nil {
		t.Fatal(err)
	}
	if fi, err := s.raw.root.Stat("key"); err != nil || fi.Mode() != fileMode {
		t.Errorf("the object's mode is %v, %v; want %v", fi.Mode(), err, fs.FileMode(fileMode))
	}
}

// Between the opening of an object and the link to its name, another version
// may take the name. What is delivered is the one that was opened.
func TestFetchDeliversTheVersionItOpened(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		meanwhile func(s *Store) error
	}{
		{"replaced meanwhile", func(s *Store) error {
			_, err := s.Put(t.Context(), "key", strings.NewReader("other"))
			return err
		}},
		{"deleted meanwhile", func(s *Store) error { return s.Delete(t.Context(), "key") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := openStore(t)
			store(t, s, "key", "opened")
			o, err := s.raw.open("key")
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close()
			path := filepath.Join(t.TempDir(), "fetched")
			if err := errors.Join(tt.meanwhile(s), s.raw.deliver(t.Context(), o, path)); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != "opened" {
				t.Errorf("the fetched file reads %q, %v; want what was opened", got, err)
			}
		})
	}
}

// File systems without hard links are rare, so this tests what Copy falls back
// to there, not the falling back.
func TestDuplicateCopiesBytes(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	info := store(t, s, "from", "bytes")
	if _, err := s.raw.duplicate(t.Context(), "from", "a/to", info.ETag); err != nil {
		t.Fatalf("duplicate = %v", err)
	}
	if got := content(t, s, "a/to"); got != "bytes" {
		t.Errorf("the copy reads %q; want bytes", got)
	}
	if _, err := s.raw.duplicate(t.Context(), "from", "b/to", "stale"); !errors.Is(err, blob.ErrChanged) {
		t.Errorf("duplicate of another version = %v; want ErrChanged", err)
	}
	if _, err := s.raw.duplicate(t.Context(), "none", "b/to", ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("duplicate of nothing = %v; want fs.ErrNotExist", err)
	}
}

// A source can vanish after Copy has found it. The folder of the target may
// be the root itself, which is not made again then.
func TestLinkToAVanishedSourceIsNotExist(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	for _, to := range []string{"to", "a/b/to"} {
		if _, err := s.raw.linkVia(s.raw.tempName(filepath.Dir(to)), "gone", to, ""); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("linkVia to %q = %v; want fs.ErrNotExist", to, err)
		}
	}
}
