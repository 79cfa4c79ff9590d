package pipeline

import (
	"context"
	"fmt"
	"iter"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// ThumbnailFile is one thumbnail as a worker made it.
type ThumbnailFile struct {
	Rendition int
	Thumbnail int
	Format    video.PictureFormat // "": JPEG
	Path      string
}

// staged is where the thumbnail waits for the transaction that publishes it.
func (f ThumbnailFile) staged(in video.Folder) string {
	return objects.StagedThumbnail(in, f.Rendition, f.Thumbnail, f.Format)
}

// name returns the file name of a resolution's thumbnail.
func (f ThumbnailFile) name(n video.Name) string {
	jpeg := objects.ThumbnailFile(n, f.Thumbnail)
	if f.Format == "" {
		return jpeg
	}
	return video.AlternateFile(jpeg, f.Format)
}

// PublishThumbnails makes thumbnails visible, as PublishRendition does for rendition files: one short
// transaction for each resolution. v is the video as it was when the task began.
func (t *Tasks) PublishThumbnails(ctx context.Context, v video.Video, files []ThumbnailFile) error {
	unfinished := func(_ context.Context, _ *store.Tx, v video.Video) (bool, error) {
		return !v.Status.Finished(), nil // otherwise another was first, long ago
	}
	if err := t.stageThumbnails(ctx, v, files, unfinished); err != nil {
		return err
	}
	return t.finish(ctx, queue.Task{Kind: queue.Thumbnails, Video: v.ID}, result{folder: v.Folder(), pass: &v.Plan.First})
}

// PublishPictures finishes the task that makes the pictures of a ready video: thumbnails in other formats
// than JPEG, and files that the video lists.
//
// A thumbnail is listed nowhere: it follows from its resolution. So thumbnails that were published before a
// crash are replaced by the same when the task runs again, and deleted with their resolution in any case.
func (t *Tasks) PublishPictures(ctx context.Context, task queue.Task, v video.Video, files []NewFile, thumbnails []ThumbnailFile) error {
	open := func(ctx context.Context, tx *store.Tx, v video.Video) (bool, error) {
		steps, err := tx.Steps(ctx, v.ID)
		return taskOpen(task, v, steps), err
	}
	if len(thumbnails) > 0 {
		if err := t.stageThumbnails(ctx, v, thumbnails, open); err != nil {
			return err
		}
	}
	return t.PublishFiles(ctx, task, v, files)
}

// wantedNow says under the lock of a video whether something of it is still wanted.
type wantedNow func(context.Context, *store.Tx, video.Video) (bool, error)

// stageThumbnails stores thumbnails and publishes the ones that are still wanted when the video is locked.
func (t *Tasks) stageThumbnails(ctx context.Context, of video.Video, files []ThumbnailFile, wanted wantedNow) error {
	for _, f := range files {
		if _, err := t.blobs.PutFile(ctx, f.staged(of.Folder()), f.Path); err != nil {
			return fmt.Errorf("store thumbnail: %w", err)
		}
	}
	t.hook.Reach(failpoint.ThumbnailsStaged)
	v, err := t.store.VideoWithPlan(ctx, of.ID)
	if err != nil && video.KindOf(err) != video.NotFound {
		return err
	}
	if v.Folder() != of.Folder() {
		return nil // the file was replaced meanwhile
	}
	for _, r := range v.Resolutions {
		if err := t.publishThumbnails(ctx, v, r.Name, files, wanted); err != nil {
			return err
		}
	}
	return nil
}

// publishThumbnails publishes the thumbnails of one resolution. v is the video before the lock.
func (t *Tasks) publishThumbnails(ctx context.Context, v video.Video, name video.Name, files []ThumbnailFile, wanted wantedNow) error {
	c := newCopies(t.blobs)
	defer c.discard()
	if t.preparesCopy(0) {
		for from, to := range thumbnailCopies(v, name, files) {
			if err := c.prepare(ctx, from, to); err != nil {
				return fmt.Errorf("publish thumbnail: %w", err)
			}
		}
	}
	return t.store.WithVideoLock(ctx, v.ID, func(tx *store.Tx) error {
		folder := v.Folder()
		v, err := tx.Video(ctx, v.ID)
		if err != nil || v.Folder() != folder {
			return err
		}
		if ok, err := wanted(ctx, tx, v); err != nil || !ok {
			return err
		}
		return tx.KeepAliveWhile(ctx, func(ctx context.Context) error {
			for from, to := range thumbnailCopies(v, name, files) {
				if err := c.publish(ctx, from, to); err != nil {
					return fmt.Errorf("publish thumbnail: %w", err)
				}
			}
			return nil
		})
	})
}

// thumbnailCopies yields where each thumbnail of a resolution is staged and where it is played. There
// are none for a resolution that was deleted.
func thumbnailCopies(v video.Video, name video.Name, files []ThumbnailFile) iter.Seq2[string, string] {
	return func(yield func(from, to string) bool) {
		if _, ok := v.Resolution(name); !ok || v.Plan == nil {
			return
		}
		for _, f := range files {
			if f.Rendition == v.Plan.RenditionOf(name) && !yield(f.staged(v.Folder()), objects.Playback(v, f.name(name))) {
				return
			}
		}
	}
}
