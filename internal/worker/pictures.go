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

// makePictures publishes the storyboard and the preview of a finished film.
func (w *Worker) makePictures(ctx context.Context, t queue.Task, v video.Video, dir string) error {
	job := ffmpeg.Job{Source: filepath.Join(dir, "in", "film.mp4"), OutDir: filepath.Join(dir, "out"), Yield: pipeline.Yield(v.Plan, t)}
	job.Ran = func(r video.Execution) { w.record(ctx, t, r) }
	for _, d := range []string{filepath.Dir(job.Source), job.OutDir} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return fmt.Errorf("make scratch folder: %w", err)
		}
	}
	err := w.Files.FetchSmallRendition(ctx, v, job.Source)
	if errors.Is(err, fs.ErrNotExist) { // all resolutions were deleted meanwhile
		return w.Tasks.Skip(ctx, t)
	}
	if err != nil {
		return err
	}
	run, report, stop := w.heartbeat(ctx, t)
	made, err := w.engine.Pictures(run, job, report)
	stop()
	if err != nil {
		return conversion(err)
	}
	files := pictureFiles(made)
	if len(files) == 0 {
		return w.Tasks.Skip(ctx, t)
	}
	return w.Tasks.PublishFiles(ctx, t, files)
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
