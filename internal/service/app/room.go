package app

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
)

// room refuses what needs more bytes of the storage than there are beside the
// reserve.
func (a *App) room(need int64) error {
	measure := a.blobs.Capabilities().Free
	if measure == nil {
		return nil
	}
	free, err := measure()
	if err != nil {
		return storageError("measure free space", err)
	}
	return a.fits(need, free)
}

// roomEvery is how many bytes are taken between two looks at the room.
const roomEvery = 1 << 20

// WhileRoom reads from r as long as the reserve is not touched. When an upload
// begins there may be room for it, and for every other that begins then.
func (a *App) WhileRoom(r io.Reader) io.Reader {
	if a.blobs.Capabilities().Free == nil {
		return r
	}
	return &rationed{r: r, room: func() error { return a.room(0) }}
}

// rationed asks for room now and then.
type rationed struct {
	r    io.Reader
	room func() error
	left int64 // bytes until it asks again
}

func (b *rationed) Read(p []byte) (int, error) {
	if b.left <= 0 {
		if err := b.room(); err != nil {
			return 0, err
		}
		b.left = roomEvery
	}
	n, err := b.r.Read(p)
	b.left -= int64(n)
	return n, err
}

// fits compares what is needed with what is free beside the reserve. The reserve
// is for the database: a service that cannot even record a deletion never gets
// out of a full disk.
func (a *App) fits(need int64, free uint64) error {
	if wanted := uint64(max(need, 0)) + uint64(a.cfg.MinFree); free < wanted {
		return storageError("make room", fmt.Errorf("%d bytes are free, %d are wanted: %w", free, wanted, blob.ErrFull))
	}
	return nil
}

// RoomFor returns an error while there is no room for what a task will write, in
// the storage or on the machine's own disk, where scratch bytes are free. The
// task then waits; nothing is lost by that.
func (a *App) RoomFor(ctx context.Context, t queue.Task, v video.Video, scratch uint64) error {
	need, err := a.estimate(ctx, t, v)
	if err != nil {
		return err
	}
	if err := a.room(need); err != nil {
		return err
	}
	return a.fits(need+a.toFetch(t, v), scratch)
}

// toFetch is roughly how many bytes of the source a task has to copy to the
// machine it runs on. Where the storage is that machine's, it is a link.
func (a *App) toFetch(t queue.Task, v video.Video) int64 {
	if a.blobs.Capabilities().Local || t.Kind == queue.Assemble {
		return 0
	}
	if t.Kind != queue.Encode || len(v.Plan.Head) == 0 || len(v.Plan.Chunks[t.Number].Spans) == 0 {
		return v.Source.Size
	}
	var sum int64
	for _, s := range slices.Concat(v.Plan.Head, v.Plan.Chunks[t.Number].Spans) {
		sum += s.To - s.From
	}
	return min(sum, v.Source.Size)
}

const (
	// bitsPerPixel is what x264 spends on a pixel of a frame of a busy picture.
	bitsPerPixel   = 0.15
	thumbnailBytes = 256 << 10
)

// estimate is roughly how many bytes a task will write.
func (a *App) estimate(ctx context.Context, t queue.Task, v video.Video) (int64, error) {
	switch t.Kind {
	case queue.Encode:
		pixels := 0.0
		for _, r := range v.Plan.Pass().Renditions {
			pixels += float64(r.Width * r.Height)
		}
		rate := min(max(v.Plan.Input.FrameRate, 1), 60)
		return int64(pixels * rate * v.Plan.Length(t.Number).Seconds() * bitsPerPixel / 8), nil
	case queue.Audio:
		return int64(float64(v.Plan.Audio.Bitrate) * v.Plan.Duration.Seconds() / 8), nil
	case queue.Thumbnails:
		return int64(len(v.Plan.Thumbnails) * len(v.Plan.Pass().Renditions) * thumbnailBytes), nil
	case queue.Assemble:
		return a.piecesSize(ctx, v, t.Number)
	}
	return 0, nil
}

// piecesSize is how large the film of a rendition will be.
func (a *App) piecesSize(ctx context.Context, v video.Video, rendition int) (int64, error) {
	keys := map[string]bool{audioKey(v.ID): true}
	for i := range v.Plan.Chunks {
		keys[pieceKey(v.ID, i, rendition)] = true
	}
	var sum int64
	for info, err := range a.blobs.List(ctx, folder(workPlace, v.ID)) {
		if err != nil {
			return 0, storageError("list pieces", err)
		}
		if keys[info.Key] {
			sum += info.Size
		}
	}
	return sum, nil
}
