//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInspect(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "ffmpeg")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec /usr/bin/ffmpeg \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, path string
		loader     string // of which the path has to hold this
		fault      string
	}{
		{"a binary names its loader", find(t, "ffmpeg"), "ld", ""},
		{"a script would need a shell", script, "", "is a script"},
		{"a program that does not exist", "/no/such/program", "", "no such file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := inspect(tt.path)
			if tt.fault != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fault) {
					t.Errorf("inspect = %+v, %v; want %q", got, err, tt.fault)
				}
				return
			}
			if err != nil || got.Path != tt.path || !strings.Contains(got.Loader, tt.loader) || !filepath.IsAbs(got.Loader) {
				t.Errorf("inspect = %+v, %v; want a loader with %q", got, err, tt.loader)
			}
		})
	}
	if cmd := openSandbox(t).Command(t.Context(), Policy{}, script); cmd.Start() == nil {
		t.Error("a script was started")
	}
}
