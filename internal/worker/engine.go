package worker

import (
	"context"

	"github.com/spool-video/spool/internal/engine/encode"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/engine/probe"
)

// Engine is what a worker uses of the engine.
type Engine struct {
	*plan.Inspector
	*encode.Encoder
}

// OpenEngine finds ffmpeg and an encoder that works here. Plans are made for the
// quality of cfg, within the limits of sizes.
func OpenEngine(ctx context.Context, tools ffmpeg.Config, cfg encode.Config, sizes plan.SizeLimits) (Engine, error) {
	run, err := ffmpeg.New(ctx, tools)
	if err != nil {
		return Engine{}, err
	}
	encoder, err := encode.New(ctx, run, cfg)
	if err != nil {
		return Engine{}, err
	}
	inspector := plan.NewInspector(probe.New(run, probe.Config{}), plan.Config{Quality: cfg.Quality, Sizes: sizes})
	return Engine{Inspector: inspector, Encoder: encoder}, nil
}
