package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAMigrationNeedsAnotherPlace(t *testing.T) {
	t.Parallel()
	old, file := t.TempDir(), filepath.Join(t.TempDir(), "new.toml")
	for content, want := range map[string]string{
		"":                 "does not say where to",
		`listen = ":8080"`: "does not say where to",
		`database_url = "postgres://spool@db/spool"`:              "does not say where to",
		`storage_url = "s3://videos?region=us-east-1"`:            "does not say where to",
		`data_dir = "` + old + `"`:                                "is the data directory that is copied",
		`data_dir = "` + old + `/../` + filepath.Base(old) + `/"`: "is the data directory that is copied",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		p, _, stderr := newProcess(nil, nil)
		if code := p.run(t.Context(), []string{"migrate", "--to=" + file, "--data-dir=" + old}); code != exitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s ends with %d and says %q; want %q", content, code, stderr, want)
		}
	}
	if made, err := os.ReadDir(old); err != nil || len(made) > 0 {
		t.Errorf("the old data directory has %v (%v)", made, err)
	}
}
