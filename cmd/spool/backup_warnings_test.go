package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/service/backup"
)

// A backup that is complete is no failure, whatever else is wrong.
func TestBackupWarnings(t *testing.T) {
	t.Parallel()
	damaged, unnoted, other := &backup.DamagedSnapshotsError{Names: []string{"a.spool"}}, &backup.NotNotedError{}, io.ErrUnexpectedEOF
	for name, tt := range map[string]struct {
		err      error
		warnings int
		fails    bool
	}{
		"nothing":           {nil, 0, false},
		"damaged":           {damaged, 1, false},
		"not noted":         {unnoted, 1, false},
		"both":              {errors.Join(unnoted, damaged), 2, false},
		"a failure":         {other, 0, true},
		"noted, not pruned": {errors.Join(unnoted, other), 1, true},
	} {
		warnings, rest := backupWarnings(tt.err)
		if len(warnings) != tt.warnings || (rest != nil) != tt.fails {
			t.Errorf("%s: warnings %v, error %v", name, warnings, rest)
		}
	}
}

func TestRestoreListsWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	err := os.MkdirAll(filepath.Join(dir, "snapshots", "20300102T030000Z.spool"), 0o700) // a folder: reading fails
	if err := errors.Join(err, os.WriteFile(filepath.Join(dir, "spool-backup-folder.json"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	p, stdout, stderr := newProcess(nil, nil)
	code := p.run(t.Context(), []string{"restore", "--list", dir})
	if code != 0 || !strings.Contains(stdout.String(), "20300102T030000Z  unreadable") || !strings.Contains(stderr.String(), "is a directory") {
		t.Errorf("--list exits with %d, prints %q and says %q", code, stdout, stderr)
	}
}

func TestAStoppedBackupSaysSo(t *testing.T) {
	t.Parallel()
	full := errors.New("the disk is full")
	if err := orStopped(t.Context(), full); err != full {
		t.Errorf("without a signal: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for err, want := range map[error]string{
		fmt.Errorf("put object x: %w", ctx.Err()): "it was stopped before its end; run the same command again",
		full: "it was stopped before its end; run the same command again (the disk is full)",
	} {
		if got := orStopped(ctx, err); got.Error() != want {
			t.Errorf("%v: %v; want %s", err, got, want)
		}
	}
}
