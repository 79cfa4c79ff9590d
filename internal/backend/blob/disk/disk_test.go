package disk_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/blobtest"
	"github.com/spool-video/spool/internal/backend/blob/disk"
)

// tree returns everything below dir, folders with a slash at their end.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	names := []string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if d.IsDir() {
			name += "/"
		}
		names = append(names, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func wantTree(t *testing.T, dir string, want ...string) {
	t.Helper()
	if got := tree(t, dir); !slices.Equal(got, want) {
		t.Errorf("the folder holds %q; want %q", got, want)
	}
}

func put(t *testing.T, s blob.Store, key, content string) blob.Info {
	t.Helper()
	info, err := s.Put(t.Context(), key, strings.NewReader(content))
	if err != nil {
		t.Fatalf("Put(%q) = %v", key, err)
	}
	return info
}

func wantObject(t *testing.T, s blob.Store, key, want string) {
	t.Helper()
	o, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatalf("Open(%q) = %v", key, err)
	}
	defer o.Close()
	if got, err := io.ReadAll(o); err != nil || string(got) != want {
		t.Errorf("object %q reads %q, %v; want %q", key, got, err, want)
	}
}

func TestOpenMakesTheFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	s := open(t, "data/objects")
	t.Chdir("data") // a store stays where it was opened
	put(t, s, "a/key", "x")
	path := filepath.Join(t.TempDir(), "fetched")
	if err := s.Fetch(t.Context(), "a/key", "", path); err != nil {
		t.Errorf("Fetch = %v", err)
	}
	wantTree(t, ".", "objects/", "objects/a/", "objects/a/key")
}

func TestOpenRefusesAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := disk.Open(path, disk.Options{}); err == nil {
		t.Error("Open of a file as a store succeeded")
	}
}

func TestReopenedStoreHasTheSameObjects(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	info := put(t, s, "a/key", "still here")
	s.Close()

	s = open(t, dir)
	wantObject(t, s, "a/key", "still here")
	if again, err := s.Stat(t.Context(), "a/key"); err != nil || again.ETag != info.ETag {
		t.Errorf("Stat = %+v, %v; want the ETag %s from before", again, err, info.ETag)
	}
}

func TestFree(t *testing.T) {
	t.Parallel()
	if free, err := open(t, t.TempDir()).Capabilities().Free(); err != nil || free < 1<<20 {
		t.Errorf("Free = %d, %v; want at least a megabyte", free, err)
	}
}

// An inode's number is given away again at once, so successive writes of one
// length are told apart by nothing but their time.
func TestETagsOfQuickWritesDiffer(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	seen := make(map[string]int)
	for i := range 200 {
		info := put(t, s, "key", "same length")
		if j, ok := seen[info.ETag]; ok {
			t.Fatalf("writes %d and %d have the same ETag %s", j, i, info.ETag)
		}
		seen[info.ETag] = i
	}
}

// The kernel's own stamp can be milliseconds old, which would not do for ETags.
func TestWritesAreStampedByTheStoresClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 2, 12, 0, 0, 123_456_789, time.UTC)
	s, err := disk.Open(t.TempDir(), disk.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stored := put(t, s, "stored", "x")
	adopted, err := s.PutFile(t.Context(), "adopted", file)
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range []blob.Info{stored, adopted} {
		if !info.Modified.Equal(now) {
			t.Errorf("%s was modified at %v; want %v", info.Key, info.Modified, now)
		}
	}
}

func TestOpenObjectsStayAsTheyWere(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	put(t, s, "key", "the first")
	first, err := s.Open(t.Context(), "key")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	put(t, s, "key", "the second")
	second, err := s.Open(t.Context(), "key")
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if err := s.Delete(t.Context(), "key"); err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]io.Reader{"the first": first, "the second": second} {
		if got, err := io.ReadAll(o); err != nil || string(got) != want {
			t.Errorf("an open object reads %q, %v; want %q", got, err, want)
		}
	}
}

// net.sendFile takes any reader that is a syscall.Conn.
func TestObjectsCanBeSentByTheKernel(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	put(t, s, "key", "x")
	o, err := s.Open(t.Context(), "key")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if _, ok := o.(syscall.Conn); !ok {
		t.Errorf("%T is no syscall.Conn", o)
	}
}

func TestAKeyCannotBeAFolderOfAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, "a/b", "x")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "a/b/c", "a/b/c/d"} {
		if _, err := s.Put(t.Context(), key, strings.NewReader("y")); !errors.Is(err, blob.ErrBadKey) {
			t.Errorf("Put(%q) beside a/b = %v; want ErrBadKey", key, err)
		}
		if _, err := s.PutFile(t.Context(), key, file); !errors.Is(err, blob.ErrBadKey) {
			t.Errorf("PutFile(%q) beside a/b = %v; want ErrBadKey", key, err)
		}
		if _, err := s.Copy(t.Context(), "a/b", key, ""); !errors.Is(err, blob.ErrBadKey) {
			t.Errorf("Copy to %q beside a/b = %v; want ErrBadKey", key, err)
		}
	}
	wantTree(t, dir, "a/", "a/b")
	if got, err := os.ReadFile(file); err != nil || string(got) != "kept" {
		t.Errorf("the refused file reads %q, %v", got, err)
	}
}

func TestWhatIsNotOursIsPassedOver(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	secret := filepath.Join(outside, "secret")
	err := errors.Join(
		os.WriteFile(secret, []byte("x"), 0o600),
		os.Symlink(secret, filepath.Join(dir, "link")),
		os.Symlink(outside, filepath.Join(dir, "folder")),
		os.Mkdir(filepath.Join(dir, "lost+found"), 0),
		os.WriteFile(filepath.Join(dir, "with space"), nil, 0o600),
		os.WriteFile(filepath.Join(dir, ".dot"), nil, 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	for info, err := range s.List(t.Context(), "") {
		t.Errorf("List yields %+v, %v; want nothing", info, err)
	}
	for _, key := range []string{"link", "folder/secret"} {
		if o, err := s.Open(t.Context(), key); err == nil {
			t.Errorf("Open(%q) reads %s, outside of the store", key, o.Info().Key)
		}
	}
	if n, err := s.CleanTemp(t.Context()); n != 0 || err != nil {
		t.Errorf("CleanTemp = %d, %v; want nothing to do", n, err)
	}
	wantTree(t, dir, ".dot", "folder", "link", "lost+found/", "with space")
}

func TestPingMissesAFolderThatIsGone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "objects")
	s, err := disk.Open(dir, disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.Rename(dir, dir+"-elsewhere"); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Ping without a folder = %v; want fs.ErrNotExist", err)
	}
}

// A key below a symbolic link that leads out of the store can be neither read nor removed.
func TestDeleteTriesAllKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, "stuck")); err != nil {
		t.Fatal(err)
	}
	blobtest.DeleteTriesAll(t, open(t, dir), "stuck/key")
}
