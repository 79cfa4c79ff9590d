package main

import (
	"errors"
	"io"
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
