package disk_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
)

// mountSmall mounts a file system of one megabyte.
func mountSmall(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small file system")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("this machine does not let tests mount: %v", err)
	}
	t.Cleanup(func() {
		// This fails if anything is still open: the store must not leak files.
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

func TestAFullDiskIsErrFullAndLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := mountSmall(t)
	s := open(t, dir)
	put(t, s, "old/key", "kept")
	large := strings.Repeat("x", 2<<20)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(large), 0o600); err != nil {
		t.Fatal(err)
	}

	if _, err := s.Put(t.Context(), "new/key", strings.NewReader(large)); !errors.Is(err, blob.ErrFull) {
		t.Errorf("Put = %v; want ErrFull", err)
	}
	if _, err := s.Put(t.Context(), "old/key", strings.NewReader(large)); !errors.Is(err, blob.ErrFull) {
		t.Errorf("Put over an object = %v; want ErrFull", err)
	}
	if _, err := s.PutFile(t.Context(), "new/key", file); !errors.Is(err, blob.ErrFull) {
		t.Errorf("PutFile = %v; want ErrFull", err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != large {
		t.Errorf("the file that did not fit is not what it was (%v)", err)
	}
	wantTree(t, dir, "old/", "old/key")
	wantObject(t, s, "old/key", "kept")
	put(t, s, "new/key", "there is room again")
}

func TestFilesOfAnotherFileSystemAreCopied(t *testing.T) {
	t.Parallel()
	other := mountSmall(t)
	dir := t.TempDir()
	s := open(t, dir)
	file := filepath.Join(other, "file")
	if err := os.WriteFile(file, []byte("from afar"), 0o600); err != nil {
		t.Fatal(err)
	}

	if _, err := s.PutFile(t.Context(), "a/key", file); err != nil {
		t.Fatalf("PutFile = %v", err)
	}
	wantObject(t, s, "a/key", "from afar")
	wantTree(t, other)
	if err := s.Fetch(t.Context(), "a/key", "", file); err != nil {
		t.Fatalf("Fetch = %v", err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "from afar" {
		t.Errorf("the fetched file reads %q, %v", got, err)
	}
	wantTree(t, dir, "a/", "a/key")
}

func TestAFetchThatDoesNotFitLeavesNothing(t *testing.T) {
	t.Parallel()
	other := mountSmall(t)
	s := open(t, t.TempDir())
	put(t, s, "key", strings.Repeat("x", 2<<20))
	if err := s.Fetch(t.Context(), "key", "", filepath.Join(other, "file")); err == nil {
		t.Error("Fetch of two megabytes into one succeeded")
	}
	wantTree(t, other)
}
