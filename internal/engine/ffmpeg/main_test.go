package ffmpeg

import (
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/spool-video/spool/internal/engine/sandbox"
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
	syscall.ForkLock.RLock() // a child that has the file open for writing would keep it from being run
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}
