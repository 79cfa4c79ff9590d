package pipeline

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// RenditionFile is an assembled rendition as a worker made it.
type RenditionFile struct {
	Path          string
	Width, Height int
	Duration      time.Duration
	Track         int // the number of the sound track that it holds; 0: none
}

// VariantFile is a rendition in another codec than H.264, as a worker made it.
type VariantFile struct {
	RenditionFile
	Picture, H264 int64 // bytes of its picture, and of the picture of the H.264 file
}

// PublishRendition makes a rendition playable under each name that it serves and turns those
// resolutions ready. of is the video as it was when the task began.
//
// Copying a large file takes minutes on S3, so it is prepared first, invisibly. The objects appear
// inside the transaction that holds the video's lock, and a deletion takes the same lock first. So
// either the deletion comes first and nothing appears, or it comes later and finds what it has to
// remove. A file that can be played after its deletion was confirmed cannot happen.
func (t *Tasks) PublishRendition(ctx context.Context, of video.Video, rendition int, f RenditionFile) error {
	staged, err := t.blobs.PutFile(ctx, objects.StagedRendition(of.Folder(), "", rendition), f.Path)
	if err != nil {
		return fmt.Errorf("store rendition file: %w", err)
	}
	copies, err := t.prepareCopies(ctx, of.ID, rendition, staged)
	defer copies.discard()
	if err != nil {
		return err
	}
	t.hook.Reach(failpoint.RenditionStaged)
	var locked bool
	err = t.store.WithVideoLock(ctx, of.ID, func(tx *store.Tx) error {
		locked = true
		done, err := tx.FinishStep(ctx, of.ID, store.Step{Kind: string(queue.Assemble), Number: rendition}, t.clock.Now())
		if err != nil {
			return err
		}
		if !done { // another execution was first: the staged file may be unused
			return t.passes.enqueuePurge(ctx, tx, of.ID, AfterPass)
		}
		return t.publish(ctx, tx, of.ID, rendition, f, staged, copies)
	})
	if err == nil && !locked {
		return t.removeWork(ctx, of.Folder())
	}
	return err
}

// publish publishes a rendition under all its names.
func (t *Tasks) publish(ctx context.Context, tx *store.Tx, id video.ID, rendition int, f RenditionFile, staged blob.Info, c *copies) error {
	v, err := tx.Video(ctx, id)
	if err != nil {
		return err
	}
	first := !slices.ContainsFunc(v.Resolutions, func(r video.Resolution) bool { return r.Status == video.Ready })
	for i, r := range v.Resolutions {
		if v.Plan.RenditionOf(r.Name) != rendition || r.Status != video.Processing {
			continue
		}
		r.Width, r.Height, r.SizeBytes, r.Bitrate = f.Width, f.Height, staged.Size, bitrate(staged.Size, f.Duration)
		r.Copied = v.Plan.Renditions[rendition].Making == video.Copied
		if err := publishResolution(ctx, tx, v, r, staged.Key, c); err != nil {
			return err
		}
		v.Resolutions[i].Status = video.Ready
	}
	if err := recordInFiles(ctx, tx, v, f.Track, first); err != nil {
		return err
	}
	if _, err = t.passes.updateStatus(ctx, tx, v, nil); err != nil {
		return err
	}
	t.hook.Reach(failpoint.RenditionLinked)
	return t.passes.endIfDone(ctx, tx, id)
}

func publishResolution(ctx context.Context, tx *store.Tx, v video.Video, r video.Resolution, staged string, c *copies) error {
	err := tx.KeepAliveWhile(ctx, func(ctx context.Context) error {
		return c.publish(ctx, staged, objects.Playback(v, objects.RenditionFile(r.Name)))
	})
	if err != nil {
		return fmt.Errorf("publish %s: %w", r.Name, err)
	}
	if err := tx.SetOutput(ctx, r); err != nil {
		return err
	}
	return tx.MoveResolution(ctx, r.ID, video.Ready, nil)
}

func bitrate(size int64, d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64(float64(size) * 8 / d.Seconds())
}

// copyUnderLock is the size up to which a file is copied while its video is locked: it takes seconds.
const copyUnderLock = 512 << 20

// preparesCopy reports whether an object of this size is copied before the lock. On SQLite every copy
// is: the lock is the only write transaction, and everyone who writes would wait. Elsewhere only the
// video waits, and a small copy in one request is cheaper than a prepared one in three.
func (t *Tasks) preparesCopy(size int64) bool {
	return t.store.SingleWriter() || size > copyUnderLock
}

// prepareCopies has a rendition file copied for each resolution that it serves. It returns copies also
// with an error, to be discarded.
func (t *Tasks) prepareCopies(ctx context.Context, id video.ID, rendition int, staged blob.Info) (*copies, error) {
	c := newCopies(t.blobs)
	if !t.preparesCopy(staged.Size) {
		return c, nil
	}
	v, err := t.store.Video(ctx, id)
	if video.KindOf(err) == video.NotFound || err == nil && (v.Plan == nil || !v.DeletedAt.IsZero()) {
		return c, nil // the video was deleted, or has no plan any more
	}
	if err != nil {
		return c, err
	}
	for _, r := range v.Resolutions {
		if v.Plan.RenditionOf(r.Name) != rendition || r.Status != video.Processing {
			continue
		}
		if err := c.prepare(ctx, staged.Key, objects.Playback(v, objects.RenditionFile(r.Name))); err != nil {
			return c, fmt.Errorf("publish %s: %w", r.Name, err)
		}
	}
	return c, nil
}
