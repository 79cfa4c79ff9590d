package ffmpeg

import (
	"log/slog"
	"testing"

	"github.com/spool-video/spool/internal/engine/sandbox"
)

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
