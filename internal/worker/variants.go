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
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

// encodeVariants encodes a chunk of a ready video in another codec, at every rendition that lacks it.
func (w *Worker) encodeVariants(ctx context.Context, t queue.Task, v video.Video, dir string) error {
	codec := pipeline.KindOf(t.Kind).Codec
	if !w.engine.Encodes(codec) {
		return cannotEncode(codec, t.Attempt)
	}
	renditions := v.Wanted(codec)
	part := v.Plan.Beside(codec, renditions)
	var files []pipeline.ChunkFile
	if c := part.Chunks[t.Number]; len(renditions) > 0 && c.Start < c.End {
		var outputs []encode.Output
		err := w.withSource(ctx, t, v, dir, plan.LaterChunkSpans(v.Plan, t.Number), func(job ffmpeg.Job) (err error) {
			run, report, stop := w.heartbeat(ctx, t)
			defer stop()
			outputs, err = w.engine.EncodeChunk(run, job, part, t.Number, report)
			return conversion(err)
		})
		if err != nil {
			return err
		}
		for _, o := range outputs {
			files = append(files, pipeline.ChunkFile{Rendition: renditions[o.Rendition], Path: o.Path, Frames: o.Frames})
		}
	}
	return w.Tasks.FinishChunk(ctx, t, v, files)
}

// maxRefusals is how often a task is put back because a machine lacks its encoder. With the pauses
// between them that is most of a day.
const maxRefusals = 1000

// cannotEncode is the error of a machine that lacks an encoder. Another one may have it, so the task is
// put back, until it is clear that none has it.
func cannotEncode(codec video.Codec, attempt int) error {
	if attempt >= maxRefusals {
		return video.Failf(video.UnsupportedCodec, "The ffmpeg of this server cannot encode %s.", codec.Title())
	}
	return fmt.Errorf("the ffmpeg of this machine has no encoder for %s: install one on every machine that runs tasks", codec.Title())
}

// joinVariant makes one file of the chunk files of a rendition in another codec. It has the frames and
// the audio of the H.264 file.
func (w *Worker) joinVariant(ctx context.Context, t queue.Task, v video.Video, dir string) error {
	parts, err := w.Files.OpenVariantFiles(ctx, v, t)
	if errors.Is(err, fs.ErrNotExist) && !wantsVariant(v, t) { // its resolutions were deleted meanwhile
		return w.Tasks.Skip(ctx, t)
	}
	if err != nil {
		return err
	}
	defer parts.Close()
	h264, err := mp4.ReadRendition(inputs(parts.Audio)[0])
	if err != nil {
		return conversion(fmt.Errorf("read the H.264 file: %w", err))
	}
	thinned := v.Plan.Renditions[t.Number].Profile.MaxFPS > 0
	if int64(h264.Frames) != parts.Frames && !thinned {
		return conversion(fmt.Errorf("the chunk files have %d frames, the H.264 file %d", parts.Frames, h264.Frames))
	}
	sound := parts.Audio
	if !h264.Audio {
		sound = nil
	}
	path := filepath.Join(dir, "rendition.mp4")
	sum, err := join(ctx, path, &pipeline.ChunkFiles{Chunks: parts.Chunks, Audio: sound}, mp4.Timing{Length: v.Plan.Duration, Last: v.Plan.FrameTime(t.Number)})
	if err != nil {
		return conversion(err)
	}
	// At a lower frame rate, each chunk begins with a frame more, and its chunks begin at other frames than in H.264.
	if n := sum.Frames - h264.Frames; thinned && max(n, -n) > len(v.Plan.Chunks) {
		return conversion(fmt.Errorf("the variant has %d frames, the H.264 file %d", sum.Frames, h264.Frames))
	}
	made, err := readRendition(path)
	if err != nil {
		return conversion(err)
	}
	file := pipeline.RenditionFile{Path: path, Width: sum.Width, Height: sum.Height, Duration: sum.Duration}
	return w.Tasks.PublishVariant(ctx, t, v, pipeline.VariantFile{RenditionFile: file, Picture: made.Picture, H264: h264.Picture})
}

// readRendition reads the tables of a file that was just made.
func readRendition(path string) (mp4.Rendition, error) {
	f, err := os.Open(path)
	if err != nil {
		return mp4.Rendition{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return mp4.Rendition{}, err
	}
	return mp4.ReadRendition(mp4.Input{ReaderAt: f, Size: info.Size()})
}

// wantsVariant reports whether the variant that a task joins is still wanted.
func wantsVariant(v video.Video, t queue.Task) bool {
	return slices.Contains(v.Wanted(pipeline.KindOf(t.Kind).Codec), t.Number)
}
