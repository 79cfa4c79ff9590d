package worker

import (
	"context"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

// makePoster publishes a picture of a telling frame.
func (w *Worker) makePoster(ctx context.Context, t queue.Task, v video.Video, dir string) error {
	var path string
	var at float64
	err := w.withSource(ctx, t, v, dir, plan.PosterSpans(v.Plan), func(job ffmpeg.Job) (err error) {
		run, report, stop := w.heartbeat(ctx, t)
		defer stop()
		path, at, err = w.engine.Poster(run, job, v.Plan, report)
		return conversion(err)
	})
	if err != nil {
		return err
	}
	if path == "" { // nothing could be decoded
		return w.Tasks.Skip(ctx, t)
	}
	poster := video.File{Name: video.PosterFile, Kind: video.PosterKind, Width: v.Plan.Poster.Width, Height: v.Plan.Poster.Height, At: &at}
	return w.Tasks.PublishFiles(ctx, t, v, []pipeline.NewFile{{File: poster, Path: path}})
}
