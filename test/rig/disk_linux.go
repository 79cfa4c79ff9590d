package rig

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Ballast is the name of the file with which Fill fills a disk.
const Ballast = "ballast"

// SmallDisk mounts a file system of 48 MiB, or skips the test where it may not.
func SmallDisk(t testing.TB) string {
	t.Helper()
	return Disk(t, 48)
}

// Disk mounts a file system of so many MiB, or skips the test where it may not.
func Disk(t testing.TB, mib int) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small file system")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", mib)); err != nil {
		t.Skipf("this machine does not let tests mount: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// MakeReadOnly mounts a read-only disk over dir, and returns how to remove it. Files that are open already can
// still be written.
func MakeReadOnly(t testing.TB, dir string) (end func()) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_RDONLY, "size=1m"); err != nil {
		t.Fatalf("make the disk read-only: %v", err)
	}
	var ended bool
	end = func() {
		t.Helper()
		if ended {
			return
		}
		ended = true
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	}
	t.Cleanup(end)
	return end
}

// Fill takes all the room that is left on the disk of dir, and returns how to
// give it back.
func Fill(t testing.TB, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, Ballast)
	f, err := os.Create(path)
	if err != nil {
		t.Fatalf("fill the disk: %v", err)
	}
	defer f.Close()
	if _, err := io.Copy(f, Zeros{}); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("fill the disk: %v; want it to be full", err)
	}
	return func() {
		t.Helper()
		if err := os.Remove(path); err != nil {
			t.Fatalf("give room back: %v", err)
		}
	}
}
