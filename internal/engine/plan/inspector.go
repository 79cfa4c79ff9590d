package plan

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

// Config says what plans are made of.
type Config struct {
	Codec    video.Codec   // default H264
	Quality  video.Quality // default Balanced
	Chunking Chunking      // default DefaultChunking
	Reading  Reading       // default DefaultReading
}

// Inspector probes files and plans their encodes. It is safe for concurrent use.
type Inspector struct {
	prober   *probe.Prober
	chunking Chunking
	reading  Reading
	codec    video.Codec
	quality  video.Quality
}

// NewInspector returns an inspector.
func NewInspector(prober *probe.Prober, cfg Config) *Inspector {
	return &Inspector{
		prober: prober, codec: cmp.Or(cfg.Codec, video.H264), quality: cmp.Or(cfg.Quality, video.Balanced),
		chunking: cmp.Or(cfg.Chunking, DefaultChunking), reading: cmp.Or(cfg.Reading, DefaultReading),
	}
}

// Inspect probes the file and makes the plan. A file that can never be
// transcoded is a *video.Failure; other errors may pass.
func (t *Inspector) Inspect(ctx context.Context, job ffmpeg.Job, ask Request) (*video.Plan, error) {
	found, err := t.prober.Probe(ctx, job)
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	plan, err := Make(found, ask, t.chunking)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	t.reading.note(plan, found, found.Timelines[plan.Input.VideoStream])
	plan.Codec, plan.Quality = t.codec, t.quality
	return plan, nil
}

// Ask is what a client wants from a file.
type Request struct {
	Names      []video.Name
	Thumbnails []float64
	Upscale    bool
}
