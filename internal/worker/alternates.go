package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/engine/encode"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

// posterAlternates makes the poster in the formats in which it is smaller.
func (w *Worker) posterAlternates(ctx, run context.Context, t queue.Task, v video.Video, dir string) ([]pipeline.NewFile, error) {
	stills, worth := w.engine.PosterStills(v.Plan)
	automatic, made := v.AutomaticPoster() // one that a client has chosen stays as it is
	if !made || !worth {
		return nil, nil
	}
	out := filepath.Join(dir, "poster")
	outputs, err := w.alternates(ctx, run, t, v, out, stills, []string{automatic.Name})
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(encode.StillPath(ffmpeg.Job{OutDir: out}, 0)); err == nil && info.Size() != automatic.Size {
		return nil, nil // a client has just put another picture in its place
	}
	var files []pipeline.NewFile
	for _, o := range outputs {
		f := video.File{Name: video.AlternateFile(video.PosterFile, o.Format), Kind: video.PosterKind}
		files = append(files, pipeline.NewFile{File: f, Path: o.Path})
	}
	return files, nil
}

// thumbnailAlternates makes thumbnails in the formats in which they are smaller, for all renditions or only
// for the renditions of the latest pass.
func (w *Worker) thumbnailAlternates(ctx, run context.Context, t queue.Task, v video.Video, dir string, all bool) ([]pipeline.ThumbnailFile, error) {
	names := map[int]video.Name{} // one for each rendition that is there
	var renditions []int
	for i, r := range v.Plan.Renditions {
		ready := slices.IndexFunc(r.Names, func(n video.Name) bool { r, ok := v.Resolution(n); return ok && r.Status == video.Ready })
		if ready >= 0 && (all || i >= v.Plan.First) {
			names[i] = r.Names[ready]
			renditions = append(renditions, i)
		}
	}
	stills, worth := w.engine.ThumbnailStills(v.Plan, renditions)
	if !worth {
		return nil, nil
	}
	var files []pipeline.ThumbnailFile
	for _, r := range renditions {
		jpegs := make([]string, len(v.Plan.Thumbnails))
		for i := range jpegs {
			jpegs[i] = objects.ThumbnailFile(names[r], i)
		}
		made, err := w.alternates(ctx, run, t, v, filepath.Join(dir, fmt.Sprintf("thumbnails-%d", r)), stills[r], jpegs)
		if err != nil {
			return nil, err
		}
		for _, o := range made {
			files = append(files, pipeline.ThumbnailFile{Rendition: r, Thumbnail: o.Thumbnail, Format: o.Format, Path: o.Path})
		}
	}
	return files, nil
}

// alternates makes published JPEGs in other formats. An output has the number of its JPEG. A JPEG that could
// not be made or was deleted has no outputs.
func (w *Worker) alternates(ctx, run context.Context, t queue.Task, v video.Video, dir string, stills encode.Stills, jpegs []string) ([]encode.Output, error) {
	job, err := w.pictureJob(ctx, t, v, dir)
	if err != nil {
		return nil, err
	}
	var numbers []int // of the JPEGs that are there
	for i, name := range jpegs {
		err := w.Files.FetchPublished(ctx, v, name, encode.StillPath(job, len(numbers)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, i)
	}
	if len(numbers) == 0 {
		return nil, nil
	}
	job.Source = encode.StillPath(job, 0)
	made, err := w.engine.Alternates(run, job, stills, len(numbers))
	if err != nil {
		return nil, conversion(err)
	}
	for i := range made {
		made[i].Thumbnail = numbers[made[i].Thumbnail]
	}
	return made, nil
}
