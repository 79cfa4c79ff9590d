package worker

import (
	"context"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/engine/encode"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

// makePoster publishes a picture of a telling frame, in every format in which it was made.
func (w *Worker) makePoster(ctx context.Context, t queue.Task, v video.Video, dir string) error {
	var made []encode.Output
	err := w.withSource(ctx, t, v, dir, plan.PosterSpans(v.Plan), func(job ffmpeg.Job) (err error) {
		run, report, stop := w.heartbeat(ctx, t)
		defer stop()
		made, err = w.engine.Poster(run, job, v.Plan, report)
		return conversion(err)
	})
	if err != nil {
		return err
	}
	if len(made) == 0 { // nothing could be decoded
		return w.Tasks.Skip(ctx, t)
	}
	var files []pipeline.NewFile
	for _, o := range made { // the JPEG last: who finds it finds the others
		f := video.File{Name: video.PosterFile, Kind: video.PosterKind}
		if o.Format != "" {
			f.Name = video.AlternateFile(f.Name, o.Format)
		}
		files = append(files, pipeline.NewFile{File: f, Path: o.Path})
	}
	return w.Tasks.PublishFiles(ctx, t, files)
}
