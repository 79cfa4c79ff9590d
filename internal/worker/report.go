package worker

import (
	"context"
	"path/filepath"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/tracing"
	"github.com/spool-video/spool/internal/engine/encode"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// recordTimeout is how long the record of an execution may take to be written.
const recordTimeout = 10 * time.Second

// record stores what a child process did and cost. It does so at once, and also when the task was
// stopped meanwhile: the record is there before the result, so the report of a ready video is
// complete. A record that cannot be written is lost, and nothing else is.
func (w *Worker) record(ctx context.Context, t queue.Task, e video.Execution) {
	tracing.Ran(ctx, e)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if err := w.Tasks.RecordExecution(ctx, t, e); err != nil {
		w.log.WarnContext(ctx, "could not record an execution", "task", t.String(), "program", e.Program, "err", err)
	}
}

// measure compares the rendition files of a ready video with their source.
func (w *Worker) measure(ctx context.Context, t queue.Task, v video.Video, dir string) error {
	var scores map[int]video.QualityScore
	err := w.withSource(ctx, t, v, dir, plan.SampleSpans(v.Plan), func(job ffmpeg.Job) error {
		files, err := w.Files.FetchRenditionFiles(ctx, v, filepath.Dir(job.Source))
		if err != nil {
			return err
		}
		renditions := make([]encode.RenditionFile, len(files))
		for i, f := range files {
			renditions[i] = encode.RenditionFile{Path: f.Path, Rendition: f.Rendition}
		}
		run, report, stop := w.heartbeat(ctx, t)
		defer stop()
		scores, err = w.engine.Measure(run, job, v.Plan, renditions, report)
		return conversion(err)
	})
	if err != nil {
		return err
	}
	return w.Tasks.StoreQuality(ctx, v.ID, scores)
}
