package encode

import (
	"os"
	"testing"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/engine/sandbox"
)

// TestMain lets the children of these tests into the sandbox.
func TestMain(m *testing.M) {
	sandbox.EnterIfAsked()
	os.Exit(m.Run())
}

// engine is all that a worker has of the engine.
type engine struct {
	*plan.Inspector
	*Encoder
	run *ffmpeg.Runner
}
