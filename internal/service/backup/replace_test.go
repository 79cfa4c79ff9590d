package backup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What cannot be read may be anything, and is not replaced.
func TestOnlyWhatWasABackupMayBeReplaced(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	dir := t.TempDir()
	film := filepath.Join(dir, "film.mov")
	if err := os.WriteFile(film, []byte(strings.Repeat("a film ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := checkReplaceable(t.Context(), film); err == nil || !strings.Contains(err.Error(), "no backup") {
		t.Errorf("a film, without a folder for temporary files: %v", err)
	}
	unread, cancel := context.WithCancel(t.Context())
	cancel()
	if err := checkReplaceable(unread, film); !errors.Is(err, context.Canceled) {
		t.Errorf("a film that could not be read: %v", err)
	}
	for name, h := range map[string]Header{
		"of this version":      {Format: format, CreatedAt: time.Now()},
		"of a newer format":    {Format: format + 1, CreatedAt: time.Now()},
		"of a newer migration": {Format: format, CreatedAt: time.Now(), Migrations: []string{"9999_future"}},
	} {
		path := filepath.Join(dir, name)
		writeHeader(t, path, h)
		if err := checkReplaceable(t.Context(), path); err != nil {
			t.Errorf("a backup %s: %v", name, err)
		}
	}
	cut := filepath.Join(dir, "cut")
	writeHeader(t, cut, Header{Format: format, Version: strings.Repeat("x", 2000)})
	if err := os.Truncate(cut, 600); err != nil {
		t.Fatal(err)
	}
	if err := checkReplaceable(t.Context(), cut); err != nil {
		t.Errorf("a backup that is cut off: %v", err)
	}
}

// writeHeader makes a file that begins as a backup does.
func writeHeader(t *testing.T, path string, h Header) {
	t.Helper()
	a, err := createArchive(path, h)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.tar.Close(), os.Rename(partialOf(path), path)); err != nil {
		t.Fatal(err)
	}
	a.abandon()
}
