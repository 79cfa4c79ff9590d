package worker

import (
	"context"
	"path/filepath"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/engine/encode"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// recordTime is how long the record of a run may take to be written.
const recordTime = 10 * time.Second

// record keeps what a child process did and cost. It does so at once, and also
// when the task was stopped meanwhile: the record is there before the result,
// so the report of a ready video is whole. A record that cannot be written
// costs nothing but itself.
func (w *Worker) record(ctx context.Context, t queue.Task, r video.Execution) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	if err := w.app.RecordRun(ctx, t, r); err != nil {
		w.log.WarnContext(ctx, "could not record a run", "task", t.String(), "program", r.Program, "err", err)
	}
}

// measure compares the films of a ready video with their source.
func (w *Worker) measure(ctx context.Context, t queue.Task, v video.Video, dir string) error {
	var found map[int]video.QualityScore
	err := w.withParts(ctx, t, v, dir, plan.SampleSpans(v.Plan), func(job ffmpeg.Job) error {
		files, err := w.app.FetchFilms(ctx, v, filepath.Dir(job.Source))
		if err != nil {
			return err
		}
		films := make([]encode.RenditionFile, len(files))
		for i, f := range files {
			films[i] = encode.RenditionFile{Path: f.Path, Rendition: f.Rendition}
		}
		run, report, stop := w.heartbeat(ctx, t)
		defer stop()
		found, err = w.engine.Measure(run, job, v.Plan, films, report)
		return conversion(err)
	})
	if err != nil {
		return err
	}
	return w.app.Measured(ctx, v.ID, found)
}
