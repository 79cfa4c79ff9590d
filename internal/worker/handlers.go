package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/engine/cover"
	"github.com/spool-video/spool/internal/engine/encode"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

// handler does the work of a task in a folder of its own, which is "" for a kind that uses no disk.
type handler func(w *Worker, ctx context.Context, t queue.Task, v video.Video, dir string) error

// handlers has one for each kind in the pipeline's table.
var handlers = map[queue.Kind]handler{
	queue.Inspect:    (*Worker).inspect,
	queue.Encode:     (*Worker).encode,
	queue.Large:      (*Worker).encodeLarge,
	queue.Recode:     (*Worker).encodeAgain,
	queue.Audio:      (*Worker).encodeAudio,
	queue.Thumbnails: (*Worker).makeThumbnails,
	queue.Poster:     (*Worker).makePoster,
	queue.Captions:   (*Worker).makeCaptions,
	queue.Texts:      (*Worker).makeTexts,
	queue.Assemble:   (*Worker).assemble,
	queue.Pictures:   (*Worker).makePictures,
	queue.AV1:        (*Worker).encodeVariants,
	queue.AV1Join:    (*Worker).joinVariant,
	queue.HEVC:       (*Worker).encodeVariants,
	queue.HEVCJoin:   (*Worker).joinVariant,
	queue.Sound:      (*Worker).makeTrack,
	queue.Remix:      (*Worker).remix,
	queue.Measure:    (*Worker).measure,
	queue.Replace:    (*Worker).replace,
	queue.Purge:      (*Worker).purge,
}

func (w *Worker) inspect(ctx context.Context, t queue.Task, v video.Video, dir string) error {
	names := v.Unplanned()
	if len(names) == 0 {
		return pipeline.NoResolutionLeft()
	}
	job, err := w.newJob(ctx, t, v, dir, nil)
	if err != nil {
		return err
	}
	if err := w.fetchWatermark(ctx, v, job); err != nil {
		return err
	}
	plan, err := w.engine.Inspect(ctx, job, plan.Request{Names: names, Thumbnails: v.Thumbnails, Upscale: v.Upscale, Trim: v.Trim, KeepHDR: v.HDR == video.KeepHDR, Profile: v.Profile, AcceptAudio: v.AcceptAudio,
		CopySource: v.CopySource == video.AutoCopy, Watermark: v.Watermark != nil, Before: v.Plan, Normalize: v.Loudness == video.NormalizeLoudness})
	if err != nil {
		return conversion(err)
	}
	plan.Watermark = v.Watermark
	w.engine.SetRates(plan)
	if plan.IsStill() {
		if err := w.Tasks.StoreStill(ctx, v, cover.Path(job)); err != nil {
			return err
		}
	}
	return w.Tasks.StorePlan(ctx, v.ID, plan)
}

func (w *Worker) encode(ctx context.Context, t queue.Task, v video.Video, dir string) error {
	files, err := w.encodeSet(ctx, t, v, dir, video.FirstSet)
	if err != nil {
		return err
	}
	return w.Tasks.FinishChunk(ctx, t, v, files)
}

func (w *Worker) encodeLarge(ctx context.Context, t queue.Task, v video.Video, dir string) error {
	files, err := w.encodeSet(ctx, t, v, dir, video.LargeSet)
	if err != nil {
		return err
	}
	return w.Tasks.FinishChunk(ctx, t, v, files)
}

// encodeAgain encodes a chunk at the rendition that was to be copied.
func (w *Worker) encodeAgain(ctx context.Context, t queue.Task, v video.Video, dir string) error {
	files, err := w.encodeSet(ctx, t, v, dir, video.RecodedSet)
	if err != nil {
		return err
	}
	return w.Tasks.FinishChunk(ctx, t, v, files)
}

// encodeSet encodes a chunk at one set of renditions.
func (w *Worker) encodeSet(ctx context.Context, t queue.Task, v video.Video, dir string, s video.Set) ([]pipeline.ChunkFile, error) {
	var outputs []encode.Output
	part, indexes := v.Plan.Only(s)
	if len(indexes) == 0 {
		return nil, nil // what was to be copied is encoded by other tasks
	}
	began := time.Now()
	err := w.withSource(ctx, t, v, dir, plan.ChunkSpans(v.Plan, t.Number), func(job ffmpeg.Job) (err error) {
		began = time.Now()
		run, report, stop := w.heartbeat(ctx, t)
		defer stop()
		outputs, err = w.engine.EncodeChunk(run, job, part, t.Number, report)
		return conversion(err)
	})
	if err != nil {
		return nil, err
	}
	if s == video.FirstSet { // the large ones of the same chunk follow
		w.metrics.Encoded(v.Plan.Length(t.Number), time.Since(began))
	}
	chunks := make([]pipeline.ChunkFile, len(outputs))
	for i, o := range outputs {
		chunks[i] = pipeline.ChunkFile{Rendition: indexes[o.Rendition], Path: o.Path, Frames: o.Frames, NotCopied: o.NotCopied}
	}
	return chunks, nil
}

func (w *Worker) makeThumbnails(ctx context.Context, t queue.Task, v video.Video, dir string) error {
	var outputs []encode.Output
	err := w.withSource(ctx, t, v, dir, plan.ThumbnailSpans(v.Plan), func(job ffmpeg.Job) (err error) {
		run, report, stop := w.heartbeat(ctx, t)
		defer stop()
		outputs, err = w.engine.Thumbnails(run, job, v.Plan.Pass(), report)
		return conversion(err)
	})
	if err != nil {
		return err
	}
	files := make([]pipeline.ThumbnailFile, len(outputs))
	for i, o := range outputs {
		files[i] = pipeline.ThumbnailFile{Rendition: v.Plan.First + o.Rendition, Thumbnail: o.Thumbnail, Path: o.Path}
	}
	return w.Tasks.PublishThumbnails(ctx, v, files)
}

func (w *Worker) assemble(ctx context.Context, t queue.Task, v video.Video, dir string) error {
	parts, err := w.Files.OpenChunkFiles(ctx, v, t.Number)
	if err != nil {
		return err
	}
	defer parts.Close()
	if len(parts.Chunks) == 0 {
		return video.Failf(video.Corrupt, "No picture of this file could be decoded.")
	}
	if len(parts.Audio) == 0 && v.Plan.IsStill() {
		return video.Failf(video.Corrupt, "The file is damaged: its sound could not be decoded.")
	}
	path := filepath.Join(dir, "rendition.mp4")
	sum, err := join(ctx, path, parts, mp4.Timing{Length: v.Plan.Duration, Delay: v.Plan.DecodeDelay(), Last: v.Plan.FrameTime(t.Number)})
	if errors.Is(err, mp4.ErrTimes) {
		w.log.InfoContext(ctx, "the chunk files cannot be joined", "task", t.String(), "err", err)
		return video.Failf(video.Corrupt, "The file's timestamps make no sense: its pictures overlap in time.")
	}
	if err != nil {
		return conversion(err)
	}
	thinned := v.Plan.Renditions[t.Number].Profile.MaxFPS > 0 // then other renditions of its chunks may have more frames
	if n := int64(sum.Frames); n > parts.Frames || n < parts.Frames && !thinned {
		return conversion(fmt.Errorf("the rendition has %d frames, its chunk files %d", sum.Frames, parts.Frames))
	}
	if limit := v.Plan.Duration + v.Plan.Duration/10 + 5*time.Second; sum.Duration > limit {
		return video.Failf(video.Corrupt, "The file's timestamps make no sense: it claims to last %s, but would play for %s.",
			v.Plan.Duration.Round(time.Second), sum.Duration.Round(time.Second))
	}
	return w.Tasks.PublishRendition(ctx, v, t.Number, pipeline.RenditionFile{Path: path, Width: sum.Width, Height: sum.Height, Duration: sum.Duration, Track: parts.Track})
}

// join writes the rendition that the chunk files make to path and checks it.
func join(ctx context.Context, path string, parts *pipeline.ChunkFiles, timing mp4.Timing) (mp4.Summary, error) {
	f, err := os.Create(path)
	if err != nil {
		return mp4.Summary{}, fmt.Errorf("assemble: %w", err)
	}
	defer f.Close()
	sum, err := mp4.Assemble(cancellableFile{ctx, f}, inputs(parts.Chunks), inputs(parts.Audio), timing)
	if err != nil {
		return mp4.Summary{}, fmt.Errorf("assemble: %w", err)
	}
	return sum, mp4.Verify(mp4.Input{ReaderAt: f, Size: sum.Size}, sum)
}

// inputs are stored files as the assembly reads them.
func inputs(files []blob.Object) []mp4.Input {
	all := make([]mp4.Input, len(files))
	for i, o := range files {
		all[i] = mp4.Input{ReaderAt: storedFile{o}, Size: o.Info().Size}
	}
	return all
}

// storedFile is an object that is read in the middle of a conversion. It marks errors of the
// storage, so that they are not taken for errors of the conversion.
type storedFile struct{ io.ReaderAt }

func (f storedFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.ReaderAt.ReadAt(p, off)
	if err != nil && err != io.EOF {
		err = storageError{err}
	}
	return n, err
}

// cancellableFile is a file whose writing ends with the task.
type cancellableFile struct {
	ctx  context.Context
	file *os.File
}

func (f cancellableFile) Write(p []byte) (int, error) {
	if f.ctx.Err() != nil {
		return 0, context.Cause(f.ctx)
	}
	return f.file.Write(p)
}
