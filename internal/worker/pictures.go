package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/engine/encode"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

// makePictures publishes what is made of a finished film in the background: the storyboard, the
// preview, and the poster and thumbnails in other formats than JPEG.
func (w *Worker) makePictures(ctx context.Context, t queue.Task, v video.Video, dir string) error {
	run, report, stop := w.heartbeat(ctx, t)
	defer stop()
	var files []pipeline.NewFile
	_, made := v.File(video.StoryboardFile) // in an earlier pass
	if !made {
		film, err := w.filmPictures(ctx, run, t, v, dir, report)
		if errors.Is(err, fs.ErrNotExist) { // all resolutions were deleted meanwhile
			return w.Tasks.Skip(ctx, t)
		}
		if err != nil {
			return err
		}
		poster, err := w.posterAlternates(ctx, run, t, v, dir)
		if err != nil {
			return err
		}
		files = append(poster, film...) // who finds the storyboard finds all
	}
	thumbnails, err := w.thumbnailAlternates(ctx, run, t, v, dir, !made)
	if err != nil {
		return err
	}
	stop()
	if len(files)+len(thumbnails) == 0 {
		return w.Tasks.Skip(ctx, t)
	}
	return w.Tasks.PublishPictures(ctx, t, v, files, thumbnails)
}

// filmPictures makes the storyboard and the preview. fs.ErrNotExist means that there is no film.
func (w *Worker) filmPictures(ctx, run context.Context, t queue.Task, v video.Video, dir string, report ffmpeg.Progress) ([]pipeline.NewFile, error) {
	job, err := w.pictureJob(ctx, t, v, filepath.Join(dir, "film"))
	if err != nil {
		return nil, err
	}
	job.Source = filepath.Join(dir, "film.mp4")
	if err := w.Files.FetchSmallRendition(ctx, v, job.Source); err != nil {
		return nil, err
	}
	made, err := w.engine.Pictures(run, job, report)
	if err != nil {
		return nil, conversion(err)
	}
	return pictureFiles(made), nil
}

// pictureJob is a job with a new folder for its outputs.
func (w *Worker) pictureJob(ctx context.Context, t queue.Task, v video.Video, out string) (ffmpeg.Job, error) {
	if err := os.Mkdir(out, 0o700); err != nil {
		return ffmpeg.Job{}, fmt.Errorf("make scratch folder: %w", err)
	}
	return ffmpeg.Job{OutDir: out, Yield: pipeline.Yield(v.Plan, t), Ran: func(r video.Execution) { w.record(ctx, t, r) }}, nil
}

// pictureFiles lists what was made.
func pictureFiles(made encode.Pictures) []pipeline.NewFile {
	var files []pipeline.NewFile
	add := func(kind video.FileKind, name, path string) {
		if path != "" {
			files = append(files, pipeline.NewFile{File: video.File{Name: name, Kind: kind}, Path: path})
		}
	}
	for i, path := range made.Sprites {
		add(video.SpriteKind, video.SpriteFile(i), path)
	}
	add(video.StoryboardKind, video.StoryboardFile, made.Storyboard)
	add(video.PreviewKind, video.PreviewFile, made.Preview)
	return files
}
