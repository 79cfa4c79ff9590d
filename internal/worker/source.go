package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/engine/encode"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

// newJob prepares the folders of a child process: one with the source alone, and an empty one for its
// output. Without spans the whole source is fetched.
func (w *Worker) newJob(ctx context.Context, t queue.Task, v video.Video, dir string, spans []video.Span) (ffmpeg.Job, error) {
	job, err := w.prepareJob(ctx, t, v, dir)
	if err != nil {
		return job, err
	}
	job.Sparse, err = w.Files.FetchSourceSpans(ctx, v, spans, job.Source)
	return job, err
}

// prepareJob is newJob without its source.
func (w *Worker) prepareJob(ctx context.Context, t queue.Task, v video.Video, dir string) (ffmpeg.Job, error) {
	job := ffmpeg.Job{Source: filepath.Join(dir, "in", "source"), OutDir: filepath.Join(dir, "out"), Yield: pipeline.Yield(v.Plan, t)}
	job.Ran = func(r video.Execution) { w.record(ctx, t, r) }
	for _, d := range []string{filepath.Dir(job.Source), job.OutDir} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return job, fmt.Errorf("make scratch folder: %w", err)
		}
	}
	return job, nil
}

// newDrawing is newJob for what makes pictures, which need the watermark of the video, too. The source of a video whose
// file has no picture is the still that was made for it.
func (w *Worker) newDrawing(ctx context.Context, t queue.Task, v video.Video, dir string, spans []video.Span) (ffmpeg.Job, error) {
	job, err := w.prepareJob(ctx, t, v, dir)
	switch {
	case err != nil:
	case v.Plan.IsStill():
		err = w.Files.FetchStill(ctx, v, job.Source)
	default:
		job.Sparse, err = w.Files.FetchSourceSpans(ctx, v, spans, job.Source)
	}
	if err != nil {
		return job, err
	}
	return job, w.fetchWatermark(ctx, v, job)
}

func (w *Worker) fetchWatermark(ctx context.Context, v video.Video, job ffmpeg.Job) error {
	return w.Files.FetchWatermark(ctx, v, filepath.Join(job.OutDir, encode.WatermarkFile))
}

// withSource lets work read no more of the source than it needs. If that does not succeed on a sparse
// source, it works again with the whole one, because the file or a hole may be the cause.
func (w *Worker) withSource(ctx context.Context, t queue.Task, v video.Video, dir string, spans []video.Span, work func(ffmpeg.Job) error) error {
	job, err := w.newDrawing(ctx, t, v, dir, spans)
	if err != nil {
		return err
	}
	err = work(job)
	if !errors.Is(err, ffmpeg.ErrSparse) {
		return err
	}
	w.log.InfoContext(ctx, "a part of the source is not enough, so all of it is read", "task", t.String(), "err", err)
	whole := filepath.Join(dir, "whole")
	if err := errors.Join(os.Remove(job.Source), os.Mkdir(whole, 0o700)); err != nil {
		return fmt.Errorf("replace the sparse source: %w", err)
	}
	if job, err = w.newDrawing(ctx, t, v, whole, nil); err != nil {
		return err
	}
	return work(job)
}
