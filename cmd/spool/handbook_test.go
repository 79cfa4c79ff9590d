package main

import (
	"path/filepath"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/spool-video/spool/internal/settings"
	"github.com/spool-video/spool/test/handbook"
)

// TestSettingsOfTheHandbook reads the settings that the pages show as serve would.
func TestSettingsOfTheHandbook(t *testing.T) {
	t.Parallel()
	const root = "../.."
	pages, err := handbook.Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range pages {
		samples, err := handbook.Samples(root, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range samples {
			if s.Language != "toml" || s.Notes["skip"] != "" {
				continue
			}
			found++
			path := write(t, filepath.Join(t.TempDir(), "spool.toml"), s.Text)
			parser, err := newParser(new(cli), &settings.Settings{Environ: lookup(nil)}, kong.Exit(func(int) {}))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := parser.Parse([]string{"serve", "--config", path}); err != nil {
				t.Errorf("%s: %v", s, err)
			}
		}
	}
	if found == 0 {
		t.Error("no page shows settings")
	}
}
