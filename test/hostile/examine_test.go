package hostile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/worker"
)

const filmName = "film.mp4"

// examine does with one file what a worker would do.
func examine(ctx context.Context, tools worker.Engine, o order) verdict {
	began := time.Now()
	v := verdict{Step: "inspect"}
	err := v.convert(ctx, tools, o)
	v.End = endOf(err)
	if f, ok := errors.AsType[*video.Failure](err); ok {
		v.Message = f.Message
	}
	if err != nil {
		v.Err = err.Error()
	}
	v.Took = time.Since(began)
	v.ChildPeak, v.OwnPeak = peaks()
	return v
}

func (v *verdict) convert(ctx context.Context, tools worker.Engine, o order) error {
	job := ffmpeg.Job{Source: o.Source, OutDir: o.Out}
	plan, err := tools.Inspect(ctx, job, plan.Request{Names: []video.Name{"144p"}, Thumbnails: o.Thumbnails})
	if err != nil {
		return err
	}
	v.Step = "encode"
	pieces, err := encodeAll(ctx, tools, job, plan)
	if err != nil {
		return err
	}
	sound := v.extras(ctx, tools, job, plan)
	v.Step = "assemble"
	if len(pieces) == 0 {
		return video.Failf(video.Corrupt, "No picture of this file could be decoded.") // as the worker does
	}
	film := filepath.Join(o.Out, filmName)
	length, err := assemble(film, pieces, sound)
	if err != nil {
		return err
	}
	v.Files = append(v.Files, film)
	if length > plan.Duration+plan.Duration/10+5*time.Second {
		return video.Failf(video.Corrupt, "The file claims to last %s, but would play for %s.", plan.Duration, length) // likewise
	}
	v.Step = "all"
	return nil
}

// encodeAll makes the chunk files and the audio of a video. A chunk without frames has none.
func encodeAll(ctx context.Context, tools worker.Engine, job ffmpeg.Job, plan *video.Plan) (pieces []string, err error) {
	for n := range plan.Chunks {
		own := job
		own.OutDir = filepath.Join(job.OutDir, fmt.Sprintf("chunk-%d", n))
		if err := os.Mkdir(own.OutDir, 0o700); err != nil {
			return nil, err
		}
		outputs, err := tools.EncodeChunk(ctx, own, plan, n, nil)
		if err != nil {
			return nil, err
		}
		for _, o := range outputs {
			pieces = append(pieces, o.Path)
		}
	}
	return pieces, nil
}

// extras makes what a video can go without: its audio, whose path it returns, and
// its thumbnails.
func (v *verdict) extras(ctx context.Context, tools worker.Engine, job ffmpeg.Job, plan *video.Plan) (sound string) {
	if plan.Audio != nil {
		output, err := tools.EncodeAudio(ctx, job, plan, 0, nil)
		if v.Sound = endOf(err); err == nil {
			sound = output.Path
		} else {
			v.Err = err.Error()
		}
	}
	if len(plan.Thumbnails) > 0 {
		stills, err := tools.Thumbnails(ctx, job, plan, nil)
		if v.Stills = endOf(err); err != nil {
			v.Err = err.Error()
		}
		for _, s := range stills {
			v.Files = append(v.Files, s.Path)
		}
	}
	return sound
}

// assemble makes a video of its pieces, and of audio unless that is "". It returns
// how long the video is.
func assemble(film string, pictures []string, sound string) (time.Duration, error) {
	var pieces []mp4.Input
	var heard []mp4.Input
	for _, path := range pictures {
		p, err := readPiece(path)
		if err != nil {
			return 0, err
		}
		pieces = append(pieces, p)
	}
	if sound != "" {
		p, err := readPiece(sound)
		if err != nil {
			return 0, err
		}
		heard = []mp4.Input{p}
	}
	f, err := os.Create(film)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	sum, err := mp4.Assemble(f, pieces, heard, mp4.Timing{})
	if err != nil {
		return 0, fmt.Errorf("assemble: %w", err)
	}
	return sum.Duration, mp4.Verify(mp4.Input{ReaderAt: f, Size: sum.Size}, sum)
}

func readPiece(path string) (mp4.Input, error) {
	b, err := os.ReadFile(path)
	return mp4.Input{ReaderAt: bytes.NewReader(b), Size: int64(len(b))}, err
}
