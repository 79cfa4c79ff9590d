package encode

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/video"
)

// Config says how to encode.
type Config struct {
	Threads     int           // of the decoder and of each encoder; 0 lets ffmpeg choose
	Codec       video.Codec   // default H264
	Quality     video.Quality // default Balanced; logged
	Accelerator Accelerator   // default Software
	Log         *slog.Logger  // is told which encoder is used, and why another one is not; nil means nobody
}

// Encoder runs the encodes of a plan. It is safe for concurrent use.
type Encoder struct {
	run     *ffmpeg.Runner
	threads int
	quality video.Quality
	encoder codecEncoder // of the codec in use
	log     *slog.Logger
}

// New finds an encoder that works here.
func New(ctx context.Context, run *ffmpeg.Runner, cfg Config) (*Encoder, error) {
	e := &Encoder{run: run, threads: cfg.Threads, quality: cmp.Or(cfg.Quality, video.Balanced), log: cfg.Log}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if e.encoder, err = e.choose(ctx, cmp.Or(cfg.Codec, video.H264), cmp.Or(cfg.Accelerator, Software)); err != nil {
		return nil, err
	}
	return e, nil
}

// Output is a file that a run made.
type Output struct {
	Path      string
	Rendition int // index in Plan.Renditions
	Thumbnail int // index in Plan.Thumbnails
	Frames    int
	Size      int64
}

// ErrNoSound means that the audio track holds nothing that could be decoded. The
// video is complete without it.
var ErrNoAudio = errors.New("no sound could be decoded")
