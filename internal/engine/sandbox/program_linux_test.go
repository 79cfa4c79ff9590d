//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/engine/sandbox/launch"
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

// TestAProgramThatIsReplaced is read again: an upgrade may bring another loader, or something else altogether.
func TestAProgramThatIsReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "program")
	text, err := os.ReadFile(find(t, "true"))
	if err != nil {
		t.Fatal(err)
	}
	put := func(text []byte) {
		t.Helper()
		next := path + ".new"
		if err := errors.Join(os.WriteFile(next, text, 0o700), os.Rename(next, path)); err != nil {
			t.Fatal(err)
		}
	}
	put(text)
	for range 2 { // the second time from memory
		if got, err := inspect(path); err != nil || got.Loader == "" {
			t.Fatalf("inspect = %+v, %v; want its loader", got, err)
		}
	}
	put([]byte("#!/bin/sh\n"))
	if got, err := inspect(path); err == nil {
		t.Errorf("after the upgrade, inspect = %+v; want a script to be refused", got)
	}
	put(text)
	if _, err := inspect(path); err != nil {
		t.Errorf("after another one, inspect = %v", err)
	}
}

// BenchmarkInspect measures what the server itself does before each start.
func BenchmarkInspect(b *testing.B) {
	program := find(b, "ffmpeg")
	for name, look := range map[string]func(string) (launch.Program, error){"known": inspect, "new": readProgram} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := look(program); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
