package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/engine/encode"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/service/app"
	"github.com/spool-video/spool/internal/video"
)

func (w *Worker) inspect(ctx context.Context, t queue.Task, v video.Video, dir string) error {
	names := v.Unplanned()
	if len(names) == 0 {
		return app.NoResolutionLeft()
	}
	job, err := w.job(ctx, t, v, dir, nil)
	if err != nil {
		return err
	}
	plan, err := w.engine.Inspect(ctx, job, plan.Request{Names: names, Thumbnails: v.Thumbnails, Upscale: v.Upscale})
	if err != nil {
		return conversion(err)
	}
	return w.app.Planned(ctx, v.ID, plan)
}

func (w *Worker) encode(ctx context.Context, t queue.Task, v video.Video, dir string) error {
	var outputs []encode.Output
	began := time.Now()
	err := w.withParts(ctx, t, v, dir, plan.ChunkSpans(v.Plan, t.Number), func(job ffmpeg.Job) (err error) {
		began = time.Now()
		run, report, stop := w.heartbeat(ctx, t)
		defer stop()
		outputs, err = w.engine.EncodeChunk(run, job, v.Plan.Pass(), t.Number, report)
		return conversion(err)
	})
	if err != nil {
		return err
	}
	w.observe.Encoded(v.Plan.Length(t.Number), time.Since(began))
	pieces := make([]app.PieceFile, len(outputs))
	for i, o := range outputs {
		pieces[i] = app.PieceFile{Rendition: v.Plan.First + o.Rendition, Path: o.Path, Frames: o.Frames}
	}
	return w.app.FinishChunk(ctx, v.ID, t.Number, pieces)
}

func (w *Worker) audio(ctx context.Context, t queue.Task, v video.Video, dir string) error {
	job, err := w.job(ctx, t, v, dir, nil)
	if err != nil {
		return err
	}
	run, report, stop := w.heartbeat(ctx, t)
	output, err := w.engine.EncodeAudio(run, job, v.Plan, report)
	stop()
	if errors.Is(err, encode.ErrNoAudio) {
		return w.app.SkipAudio(ctx, v.ID)
	}
	if err != nil {
		return conversion(err)
	}
	return w.app.FinishAudio(ctx, v.ID, output.Path)
}

func (w *Worker) thumbnails(ctx context.Context, t queue.Task, v video.Video, dir string) error {
	var outputs []encode.Output
	err := w.withParts(ctx, t, v, dir, plan.ThumbnailSpans(v.Plan), func(job ffmpeg.Job) (err error) {
		run, report, stop := w.heartbeat(ctx, t)
		defer stop()
		outputs, err = w.engine.Thumbnails(run, job, v.Plan.Pass(), report)
		return conversion(err)
	})
	if err != nil {
		return err
	}
	files := make([]app.ThumbnailFile, len(outputs))
	for i, o := range outputs {
		files[i] = app.ThumbnailFile{Rendition: v.Plan.First + o.Rendition, Thumbnail: o.Thumbnail, Path: o.Path}
	}
	return w.app.PublishThumbnails(ctx, v.ID, files)
}

func (w *Worker) assemble(ctx context.Context, t queue.Task, v video.Video, dir string) error {
	parts, err := w.app.OpenPieces(ctx, v, t.Number)
	if err != nil {
		return err
	}
	defer parts.Close()
	if len(parts.Chunks) == 0 {
		return video.Failf(video.Corrupt, "No picture of this file could be decoded.")
	}
	path := filepath.Join(dir, "film.mp4")
	sum, err := join(ctx, path, parts, v.Plan.Duration)
	if errors.Is(err, mp4.ErrTimes) {
		w.log.InfoContext(ctx, "a film cannot be joined", "task", t.String(), "err", err)
		return video.Failf(video.Corrupt, "The file's timestamps make no sense: its pictures overlap in time.")
	}
	if err != nil {
		return conversion(err)
	}
	if int64(sum.Frames) != parts.Frames {
		return conversion(fmt.Errorf("assembled film has %d frames, its pieces %d", sum.Frames, parts.Frames))
	}
	if limit := v.Plan.Duration + v.Plan.Duration/10 + 5*time.Second; sum.Duration > limit {
		return video.Failf(video.Corrupt, "The file's timestamps make no sense: it claims to last %s, but would play for %s.",
			v.Plan.Duration.Round(time.Second), sum.Duration.Round(time.Second))
	}
	return w.app.PublishFilm(ctx, v.ID, t.Number, app.Film{Path: path, Width: sum.Width, Height: sum.Height, Duration: sum.Duration})
}

// join writes the film that the pieces make to path and checks it.
func join(ctx context.Context, path string, parts *app.Pieces, length time.Duration) (mp4.Summary, error) {
	pieces := make([]mp4.Input, len(parts.Chunks))
	for i, o := range parts.Chunks {
		pieces[i] = mp4.Input{ReaderAt: stored{o}, Size: o.Info().Size}
	}
	var sound *mp4.Input
	if parts.Audio != nil {
		sound = &mp4.Input{ReaderAt: stored{parts.Audio}, Size: parts.Audio.Info().Size}
	}
	f, err := os.Create(path)
	if err != nil {
		return mp4.Summary{}, fmt.Errorf("assemble: %w", err)
	}
	defer f.Close()
	sum, err := mp4.Assemble(stoppable{ctx, f}, pieces, sound, length)
	if err != nil {
		return mp4.Summary{}, fmt.Errorf("assemble: %w", err)
	}
	return sum, mp4.Verify(mp4.Input{ReaderAt: f, Size: sum.Size}, sum)
}

// stored is an object that is read in the middle of a conversion. Its errors are
// told from those about what was read: the storage is to blame, not the film.
type stored struct{ io.ReaderAt }

func (s stored) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.ReaderAt.ReadAt(p, off)
	if err != nil && err != io.EOF {
		err = unreadable{err}
	}
	return n, err
}

// unreadable is an error of the storage.
type unreadable struct{ error }

func (u unreadable) Unwrap() error { return u.error }

// stoppable is a file whose writing ends with the task.
type stoppable struct {
	ctx  context.Context
	file *os.File
}

func (s stoppable) Write(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	return s.file.Write(p)
}
