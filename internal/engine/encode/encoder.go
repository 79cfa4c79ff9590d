// Package encode carries out a plan: it encodes chunks, the audio track and the
// thumbnails with ffmpeg, and compares finished rendition files with their
// source. It owns the encoders (software and hardware, tried once at start), the
// filter graphs, the settings of each codec and the limits of each run. The
// command line of every run is built by a pure function and compared with golden
// files.
//
// One run decodes a chunk once and encodes it at every size; each size is scaled
// from the next larger one. A chunk file is an ordinary MP4 whose edit list
// carries its place on the timeline of the video, so no times are added up when
// chunks are joined: mp4.Assemble sorts the presentation times of all frames and
// derives the decode times from them. Keyframes are forced onto a grid of two
// seconds of the whole video, so that all renditions can be cut into segments at
// the same frames. What ffmpeg made is opened and counted before it counts as a
// result.
package encode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/video"
)

// Config says how to encode.
type Config struct {
	Threads     int           // of the decoder and of each encoder; default one per core, at most maxThreads
	Beside      []video.Codec // that must work as well as H.264, in software
	Accelerator Accelerator   // default Software
	Log         *slog.Logger  // which encoder is used, and why another one is not; nil means no log
}

// maxThreads is enough for the decoder and the six encoders of one task to keep about
// ten cores busy. More would only cost memory: a machine with more cores runs more tasks.
//
// With as many tasks as cores, one thread would be enough and would save 5 % of the CPU
// time. But the last task of a video, or the only one of a clip, would leave all other
// cores idle and take twice as long.
const maxThreads = 4

// Encoder runs the encodes of a plan. It is safe for concurrent use.
type Encoder struct {
	run     *ffmpeg.Runner
	threads int
	encoder codecEncoder  // of H.264
	minWall time.Duration // for tests: the time that every task has; default minWall
	log     *slog.Logger
}

// New finds an encoder that works on this machine.
func New(ctx context.Context, run *ffmpeg.Runner, cfg Config) (*Encoder, error) {
	e := &Encoder{run: run, threads: cmp.Or(cfg.Threads, min(runtime.GOMAXPROCS(0), maxThreads)), log: cfg.Log}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if e.encoder, err = e.choose(ctx, video.H264, cmp.Or(cfg.Accelerator, Software)); err != nil {
		return nil, err
	}
	for _, codec := range cfg.Beside {
		if !e.Encodes(codec) {
			return nil, fmt.Errorf("%s cannot be made beside H.264, as the setting codecs asks for: this ffmpeg (%s) has no encoder %s. Install one that has it (Debian's and Ubuntu's package ffmpeg is one), or take %s out of codecs",
				codec.Title(), run.Version(), encodersFor(codec, Software)[0].name, codec)
		}
		if _, err := e.choose(ctx, codec, Software); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// Encodes reports whether ffmpeg has the software encoder of a codec.
func (enc *Encoder) Encodes(codec video.Codec) bool {
	all := encodersFor(codec, Software)
	return len(all) > 0 && enc.run.HasEncoder(all[0].name)
}

// Runner returns what runs ffmpeg for it.
func (enc *Encoder) Runner() *ffmpeg.Runner { return enc.run }

// Output is a file that a run made.
type Output struct {
	Path      string
	Rendition int                 // index in Plan.Renditions
	Thumbnail int                 // index in Plan.Thumbnails
	Format    video.PictureFormat // of a picture; "": JPEG
	Frames    int
	Size      int64
	Lost      time.Duration // of the audio: what could not be decoded
	Whole     string        // of the last piece of the audio: the file with all of it
	// NotCopied is why the picture of a rendition cannot be copied, as it was to be. It then has no file.
	NotCopied video.CopyReason
	Loudness  *video.Loudness
}

// ErrNoAudio means that the audio track holds nothing that could be decoded. The
// video is complete without it.
var ErrNoAudio = errors.New("no sound could be decoded")
