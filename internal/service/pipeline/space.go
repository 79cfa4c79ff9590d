package pipeline

import (
	"context"
	"slices"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// CheckSpace returns an error while there is not enough space for what a task will write, in the
// storage or on the machine's own disk, where scratch bytes are free. The task then waits; nothing
// is lost by that.
func (t *Tasks) CheckSpace(ctx context.Context, task queue.Task, v video.Video, scratch uint64) error {
	var reads, writes int64
	var err error
	kind := KindOf(task.Kind)
	if kind.Writes != nil {
		if writes, err = kind.Writes(ctx, t.blobs, v, task.Number); err != nil {
			return err
		}
	}
	if err := t.reserve.Check(writes); err != nil {
		return err
	}
	if kind.Reads != nil && !t.reserve.Local() { // in a local storage a fetched file is a link
		reads = kind.Reads(v, task.Number)
	}
	return t.reserve.CheckDisk(writes+reads, scratch)
}

// wholeSource is what a task reads that fetches the whole source.
func wholeSource(v video.Video, _ int) int64 { return v.Source.Size }

// chunkSource is what encoding a chunk reads: a part, where the plan knows which one it needs.
func chunkSource(v video.Video, n int) int64 {
	if v.Plan.IsStill() {
		return stillSize
	}
	if len(v.Plan.Head) == 0 || len(v.Plan.Chunks[n].Spans) == 0 {
		return v.Source.Size
	}
	var sum int64
	for _, s := range slices.Concat(v.Plan.Head, v.Plan.Chunks[n].Spans) {
		sum += s.To - s.From
	}
	return min(sum, v.Source.Size)
}

const (
	// bitsPerPixel is what x264 spends on a pixel of a frame with much detail and motion.
	bitsPerPixel = 0.15
	// thumbnailSize is the size of a large thumbnail.
	thumbnailSize = 256 << 10
	// stillSize is the size of a large still.
	stillSize = 16 << 20
	// captionsSize is the size of the captions of a long film.
	captionsSize = 256 << 10
	// picturesSize is the size of the storyboard and the preview of a long film.
	picturesSize = 4 << 20
)

// variantSource is what encoding a chunk in another codec reads: its borders are a little later.
func variantSource(v video.Video, n int) int64 {
	size := chunkSource(v, n)
	if n+1 < len(v.Plan.Chunks) {
		size += chunkSource(v, n+1)
	}
	return min(size, v.Source.Size)
}

// variantBytes is roughly how large the files of a chunk are in another codec: it needs no more than
// H.264 does.
func variantBytes(c video.Codec) func(video.Video, int) int64 {
	return func(v video.Video, n int) int64 {
		other := v
		other.Plan = v.Plan.Beside(c, v.Wanted(c))
		return chunkBytes(video.FirstSet)(other, n)
	}
}

// chunkBytes is roughly how large the files of a chunk are, at one set of renditions.
func chunkBytes(s video.Set) func(video.Video, int) int64 {
	return func(v video.Video, n int) int64 {
		part, _ := v.Plan.Only(s)
		pixels := 0.0
		for _, r := range part.Renditions {
			pixels += float64(r.Width * r.Height)
		}
		rate := min(max(v.Plan.Input.FrameRate, 1), 60)
		return int64(pixels * rate * v.Plan.Length(n).Seconds() * bitsPerPixel / 8)
	}
}

// audioBytes is roughly how large a sound track of a video is.
func audioBytes(v video.Video, _ int) int64 {
	return int64(float64(v.Plan.Audio.Bitrate) * v.Plan.Duration.Seconds() / 8)
}

func thumbnailBytes(v video.Video, _ int) int64 {
	return int64(len(v.Plan.Thumbnails) * len(v.Plan.Pass().Renditions) * thumbnailSize)
}

// smallRendition is what a task reads that fetches a small rendition file.
func smallRendition(v video.Video, _ int) int64 {
	r, _ := smallResolution(v)
	return r.SizeBytes
}

// estimated is Writes of a kind whose output follows from the plan.
func estimated(size func(video.Video, int) int64) func(context.Context, blob.Store, video.Video, int) (int64, error) {
	return func(_ context.Context, _ blob.Store, v video.Video, n int) (int64, error) { return size(v, n), nil }
}

// renditionBytes is how large a rendition file in a codec will be: as large as its chunk files and the audio.
func renditionBytes(c video.Codec) func(context.Context, blob.Store, video.Video, int) (int64, error) {
	return func(ctx context.Context, blobs blob.Store, v video.Video, rendition int) (int64, error) {
		size, err := workBytes(ctx, blobs, v, func(key string) bool { return objects.IsChunkOf(key, c, rendition) })
		if v.Plan.Audio != nil {
			size += audioBytes(v, 0)
		}
		return size, err
	}
}

// workBytes adds up the sizes of objects of a pass.
func workBytes(ctx context.Context, blobs blob.Store, v video.Video, counts func(key string) bool) (sum int64, err error) {
	for info, err := range blobs.List(ctx, objects.Work.Prefix(v.Folder())) {
		if err != nil {
			return 0, blob.ServiceError("list chunk files", err)
		}
		if counts(info.Key) {
			sum += info.Size
		}
	}
	return sum, nil
}
