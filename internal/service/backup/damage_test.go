package backup_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spool-video/spool/internal/service/backup"
)

// damageObjects flips a byte of every object in a folder, as a bad disk does: names and lengths stay.
func damageObjects(t *testing.T, dir string) {
	t.Helper()
	must(t, filepath.WalkDir(filepath.Join(dir, "objects"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil || len(content) == 0 {
			return err
		}
		content[0] ^= 1
		return os.WriteFile(path, content, 0o600)
	}))
}

// Otherwise all backups that follow have the damage, too, and nobody is told.
func TestDamagedObjectsOfAFolderAreStoredAgain(t *testing.T) {
	t.Parallel()
	for name, find := range map[string]func(dir string) error{
		"found by verify": func(dir string) error {
			_, _, err := backup.Verify(t.Context(), dir, "", nil)
			return err
		},
		"found by restore": func(dir string) error {
			to := onDisk(t)
			_, _, err := backup.Restore(t.Context(), dir, "", to.target(), to.dir, nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, dir, first := newBackup(t)
			damageObjects(t, dir)
			if err := find(dir); err == nil || !strings.Contains(err.Error(), "stores this one again") {
				t.Fatalf("the damage: %v", err)
			}
			nextSecond(first)
			_, second, err := backup.ToFolder(t.Context(), sourceOf(l.Rig), dir, 0, backup.Options{})
			must(t, err)
			for _, snapshot := range []string{first, second} {
				if _, _, err := backup.Verify(t.Context(), dir, snapshot, nil); err != nil {
					t.Errorf("after another backup, %s: %v", snapshot, err)
				}
			}
		})
	}
}

// unreadable is a file of Linux that cannot be read from its beginning: EIO, as from a bad disk.
const unreadable = "/proc/self/mem"

func skipWithoutUnreadable(t *testing.T) {
	t.Helper()
	if _, err := os.ReadFile(unreadable); !errors.Is(err, syscall.EIO) {
		t.Skipf("reading %s: %v", unreadable, err)
	}
}

func TestAnObjectThatCannotBeReadIsDamaged(t *testing.T) {
	t.Parallel()
	skipWithoutUnreadable(t)
	l, dir, first := newBackup(t)
	must(t, filepath.WalkDir(filepath.Join(dir, "objects"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return errors.Join(os.Remove(path), os.Symlink(unreadable, path))
	}))
	to, mark := onDisk(t), filepath.Join(dir, "damaged")
	_, _, verified := backup.Verify(t.Context(), dir, "", nil)
	must(t, os.RemoveAll(mark))
	_, _, restored := backup.Restore(t.Context(), dir, "", to.target(), to.dir, nil)
	for _, err := range []error{verified, restored} {
		if _, is := errors.AsType[*backup.DamagedError](err); !is || !strings.Contains(err.Error(), "cannot be read") {
			t.Errorf("an object that cannot be read: %v", err)
		}
	}
	if _, err := os.Stat(mark); err != nil {
		t.Errorf("the restore did not note the damage: %v", err)
	}
	nextSecond(first)
	_, _, err := backup.ToFolder(t.Context(), sourceOf(l.Rig), dir, 0, backup.Options{})
	must(t, err)
	if _, _, err := backup.Verify(t.Context(), dir, first, nil); err != nil {
		t.Errorf("after another backup: %v", err)
	}
}

func TestAnUnreadableSnapshotHidesNoOther(t *testing.T) {
	t.Parallel()
	skipWithoutUnreadable(t)
	_, dir, first := newBackup(t)
	at := func(name string) string { return filepath.Join(dir, "snapshots", name+".spool") }
	whole, err := os.ReadFile(at(first))
	must(t, err)
	must(t, os.WriteFile(at("20010101T000000Z"), bytes.Replace(whole, []byte(`"format":1`), []byte(`"format":2`), 1), 0o600))
	must(t, os.Symlink(unreadable, at("20020101T000000Z")))
	list, err := backup.List(t.Context(), dir)
	if err != nil || len(list) != 3 || list[2].Name != first || list[2].Videos == 0 || list[2].Unreadable != "" {
		t.Fatalf("List = %+v, %v; want two that cannot be read, and a good one", list, err)
	}
	for i, want := range []string{"newer Spool", "input/output error"} {
		if list[i].Damaged || !strings.Contains(list[i].Unreadable, want) {
			t.Errorf("listed as %+v; want %q", list[i], want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := backup.List(ended, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("List that was interrupted = %v", err)
	}
}

func TestADamagedSnapshotHidesNoOther(t *testing.T) {
	t.Parallel()
	l, dir, first := newBackup(t)
	nextSecond(first)
	_, second, err := backup.ToFolder(t.Context(), sourceOf(l.Rig), dir, 0, backup.Options{})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "snapshots", second+".spool"), []byte("rubbish"), 0o600))
	list, err := backup.List(t.Context(), dir)
	if err != nil || len(list) != 2 || list[0].Damaged || list[0].Videos == 0 || !list[1].Damaged || list[1].Name != second {
		t.Errorf("List = %+v, %v; want a good one and a damaged one", list, err)
	}
}

func TestABackupReplacesOnlyBackups(t *testing.T) {
	t.Parallel()
	l, dir := newLibrary(t), t.TempDir()
	film, pipe, link, real := filepath.Join(dir, "film.mov"), filepath.Join(dir, "pipe"), filepath.Join(dir, "newest.tar"), filepath.Join(dir, "real.tar")
	must(t, os.WriteFile(film, []byte(strings.Repeat("a film ", 1000)), 0o600))
	must(t, syscall.Mkfifo(pipe, 0o600))
	for _, path := range []string{film, pipe} {
		before, err := os.Lstat(path)
		must(t, err)
		if _, err := backup.ToFile(t.Context(), sourceOf(l.Rig), path, backup.Options{}); err == nil {
			t.Errorf("a backup replaces %s", path)
		}
		if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) {
			t.Errorf("%s is another file: %v", path, err)
		}
	}
	must(t, os.Symlink(real, link))
	must(t, os.WriteFile(real, nil, 0o600)) // as mktemp makes it
	for range 2 {                           // an empty file, and a backup
		_, err := backup.ToFile(t.Context(), sourceOf(l.Rig), link, backup.Options{})
		must(t, err)
	}
	if target, err := os.Readlink(link); err != nil || target != real {
		t.Errorf("the link leads to %q, %v", target, err)
	}
	if _, _, err := backup.Verify(t.Context(), real, "", nil); err != nil {
		t.Error(err)
	}
}

// A link to a disk on which there is no backup yet.
func TestABackupThroughALinkToNothing(t *testing.T) {
	t.Parallel()
	l, dir := newLibrary(t), t.TempDir()
	here, usb := filepath.Join(dir, "here"), filepath.Join(dir, "usb")
	must(t, errors.Join(os.Mkdir(here, 0o700), os.Mkdir(usb, 0o700)))
	absolute, relative, nowhere := filepath.Join(here, "absolute.tar"), filepath.Join(here, "relative.tar"), filepath.Join(here, "nowhere.tar")
	must(t, os.Symlink(filepath.Join(usb, "a.tar"), absolute))
	must(t, os.Symlink("../usb/r.tar", filepath.Join(here, "second.tar")))
	must(t, os.Symlink("second.tar", relative))
	must(t, os.Symlink(filepath.Join(dir, "gone", "n.tar"), nowhere))
	for link, real := range map[string]string{absolute: "a.tar", relative: "r.tar"} {
		_, err := backup.ToFile(t.Context(), sourceOf(l.Rig), link, backup.Options{})
		must(t, err)
		if fi, err := os.Lstat(filepath.Join(usb, real)); err != nil || !fi.Mode().IsRegular() {
			t.Errorf("%s: %v, %v; want an ordinary file", real, fi, err)
		}
		if _, _, err := backup.Verify(t.Context(), link, "", nil); err != nil {
			t.Error(err)
		}
	}
	if _, err := backup.ToFile(t.Context(), sourceOf(l.Rig), nowhere, backup.Options{}); err == nil || !strings.Contains(err.Error(), "there is no folder "+filepath.Join(dir, "gone")) {
		t.Errorf("a link to a folder that is missing: %v", err)
	}
	circle := filepath.Join(usb, "circle.tar")
	must(t, os.Symlink("circle.tar", circle))
	if _, err := backup.ToFile(t.Context(), sourceOf(l.Rig), circle, backup.Options{}); err == nil || !strings.Contains(err.Error(), "no ordinary file") {
		t.Errorf("a link to itself: %v", err)
	}
	if names, err := os.ReadDir(here); err != nil || len(names) != 4 {
		t.Errorf("beside the links there are %v, %v", names, err)
	}
}

// A snapshot that cannot be read keeps neither the new backup from counting nor older ones from being removed.
func TestAnUnreadableSnapshotDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	skipWithoutUnreadable(t)
	l, dir, first := newBackup(t)
	at := func(name string) string { return filepath.Join(dir, "snapshots", name+".spool") }
	whole, err := os.ReadFile(at(first))
	must(t, err)
	for _, name := range []string{"20010101T000000Z", "20020101T000000Z"} {
		must(t, os.WriteFile(at(name), whole, 0o600))
	}
	must(t, os.Remove(at(first)))
	must(t, os.Symlink(unreadable, at(first)))
	nextSecond(first)
	summary, last, err := backup.ToFolder(t.Context(), sourceOf(l.Rig), dir, 2, backup.Options{})
	e, is := errors.AsType[*backup.DamagedSnapshotsError](err)
	if !is || summary == nil || len(e.Names) != 0 || len(e.Unreadable) != 1 || !strings.Contains(e.Error(), first+".spool (") || !strings.Contains(e.Error(), "input/output error") {
		t.Fatalf("ToFolder = %v, %v; want a backup, and that %s cannot be read", summary, err, first)
	}
	list, err := backup.List(t.Context(), dir)
	must(t, err)
	var left []string
	for _, s := range list {
		left = append(left, s.Name)
	}
	if want := []string{"20020101T000000Z", first, last}; !slices.Equal(left, want) {
		t.Errorf("left are %v; want %v", left, want)
	}
	if _, _, err := backup.Verify(t.Context(), dir, "20020101T000000Z", nil); err != nil {
		t.Errorf("what was kept: %v", err)
	}
}
