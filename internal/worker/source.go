package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/video"
)

// job prepares the folders of a run: the source alone in one, an empty one for
// what is made. Without spans the source is whole.
func (w *Worker) job(ctx context.Context, t queue.Task, v video.Video, dir string, spans []video.Span) (ffmpeg.Job, error) {
	job := ffmpeg.Job{Source: filepath.Join(dir, "in", "source"), OutDir: filepath.Join(dir, "out")}
	job.Ran = func(r video.Execution) { w.record(ctx, t, r) }
	for _, d := range []string{filepath.Dir(job.Source), job.OutDir} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return job, fmt.Errorf("make scratch folder: %w", err)
		}
	}
	var err error
	job.Sparse, err = w.app.FetchSpans(ctx, v, spans, job.Source)
	return job, err
}

// withParts lets work read no more of the source than it needs. If the result
// is not flawless it works again with the whole file, because nobody can tell
// whether the film or a hole is to blame.
func (w *Worker) withParts(ctx context.Context, t queue.Task, v video.Video, dir string, spans []video.Span, work func(ffmpeg.Job) error) error {
	job, err := w.job(ctx, t, v, dir, spans)
	if err != nil {
		return err
	}
	err = work(job)
	if !errors.Is(err, ffmpeg.ErrSparse) {
		return err
	}
	w.log.InfoContext(ctx, "a part of the source does not do, so all of it is read", "task", t.String(), "err", err)
	whole := filepath.Join(dir, "whole")
	if err := errors.Join(os.Remove(job.Source), os.Mkdir(whole, 0o700)); err != nil {
		return fmt.Errorf("make room for the whole source: %w", err)
	}
	if job, err = w.job(ctx, t, v, whole, nil); err != nil {
		return err
	}
	return work(job)
}
