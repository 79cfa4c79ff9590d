package ffmpeg

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/test/child"
)

// TestMain lets the children of these tests into the sandbox.
func TestMain(m *testing.M) {
	sandbox.EnterIfAsked()
	os.Exit(m.Run())
}

func sandboxed(t *testing.T) *Runner {
	t.Helper()
	box, err := sandbox.Open(sandbox.On, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	run, err := New(t.Context(), Config{Sandbox: box})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// shell makes an executable that stands in for ffmpeg where the real one cannot
// be made to misbehave.
func shell(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tool")
	child.WriteProgram(t, path, []byte("#!/bin/sh\n"+body))
	return path
}
