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

// OpenEngine finds ffmpeg and an encoder that works here.
func OpenEngine(ctx context.Context, tools ffmpeg.Config, plans plan.Config, encodes encode.Config) (Engine, error) {
	run, err := ffmpeg.New(ctx, tools)
	if err != nil {
		return Engine{}, err
	}
	encoder, err := encode.New(ctx, run, encodes)
	if err != nil {
		return Engine{}, err
	}
	return Engine{Inspector: plan.NewInspector(probe.New(run, probe.Config{}), plans), Encoder: encoder}, nil
}
