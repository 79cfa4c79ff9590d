package ffmpeg

import (
	"log/slog"
	"os"
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
