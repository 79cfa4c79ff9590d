// Package plan decides what to make of a source: the sizes (ladder), the chunks
// that workers encode in parallel, the audio, the frames of the thumbnails, the
// samples at which quality is measured, and which bytes of the source each of
// these tasks needs. Everything but Inspector.Inspect is a pure function of a
// probe.Result and a Request.
//
// All times are integers in the time base of the source, never seconds: a chunk
// is the frames from Start up to End, so every frame belongs to exactly one
// chunk, and nothing is rounded. Chunks begin at keyframes about every 20 s.
// Towards the end they get shorter, down to 10 s, because every other worker is
// idle while the last chunk is encoded. (A clip of 30 s as three chunks takes
// the same CPU time as one within the noise, and 2 % more bytes.) A source in
// which seeking is not exact is one chunk.
package plan

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spool-video/spool/internal/engine/cover"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

// Config says what plans are made of.
type Config struct {
	Quality  video.Quality // default Balanced
	Chunking Chunking      // default DefaultChunking
	Reading  Reading       // default DefaultReading
	Sizes    SizeLimits    // default DefaultSizes
	// LoudnessTarget is how loud sound tracks become, in LUFS, where that is asked for; default video.DefaultLoudness.
	LoudnessTarget float64
}

// Inspector probes files and plans their encodes. It is safe for concurrent use.
type Inspector struct {
	prober   *probe.Prober
	covers   *cover.Maker
	chunking Chunking
	reading  Reading
	sizes    SizeLimits
	quality  video.Quality
	loudness float64
}

// NewInspector returns an inspector that probes files with prober.
func NewInspector(prober *probe.Prober, cfg Config) *Inspector {
	return &Inspector{
		prober: prober, covers: cover.NewMaker(prober.Runner()), quality: cmp.Or(cfg.Quality, video.Balanced),
		chunking: cmp.Or(cfg.Chunking, DefaultChunking), reading: cmp.Or(cfg.Reading, DefaultReading),
		sizes: cmp.Or(cfg.Sizes, DefaultSizes), loudness: cmp.Or(cfg.LoudnessTarget, video.DefaultLoudness),
	}
}

// Inspect probes the file and makes the plan. A file that can never be
// transcoded is a *video.Failure; other errors may be transient.
func (i *Inspector) Inspect(ctx context.Context, job ffmpeg.Job, ask Request) (*video.Plan, error) {
	found, err := i.prober.Probe(ctx, job)
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	if ask.AcceptAudio {
		if err := i.addStill(ctx, job, found, ask.Trim); err != nil {
			return nil, err
		}
	}
	plan, err := Make(found, ask, i.chunking, i.sizes)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	if !plan.IsStill() {
		i.reading.recordSpans(plan, found, found.Timelines[plan.Input.VideoStream])
	}
	plan.Quality = i.quality
	if ask.Normalize {
		plan.LoudnessTarget = i.loudness
	}
	return plan, nil
}

// Request is what a client wants from a file.
type Request struct {
	Names      []video.Name
	Thumbnails []float64
	Upscale    bool
	Trim       *video.Trim    // nil: all of it
	KeepHDR    bool           // codecs beside H.264 keep the range of the source
	Profile    *video.Profile // nil: none
	// AcceptAudio has a file with sound and no picture be made with a picture of its own, in cover.Path of the job.
	AcceptAudio bool
	CopySource  bool        // copy its picture, if it plays everywhere as it is
	Watermark   bool        // one is laid over the picture
	Before      *video.Plan // of an earlier pass over the file; nil: this is the first one
	Normalize   bool        // all sound tracks become equally loud
}
