package encode

import (
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
)

// engine is all that a worker has of the engine.
type engine struct {
	*plan.Inspector
	*Encoder
	run *ffmpeg.Runner
}
