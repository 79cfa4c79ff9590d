package pipeline

import (
	"context"
	"fmt"

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
	Path      string
}

// PublishThumbnails makes thumbnails visible, as PublishRendition does for rendition files: one short
// transaction for each resolution.
func (t *Tasks) PublishThumbnails(ctx context.Context, id video.ID, files []ThumbnailFile) error {
	for _, f := range files {
		if _, err := t.blobs.PutFile(ctx, objects.StagedThumbnail(id, f.Rendition, f.Thumbnail), f.Path); err != nil {
			return fmt.Errorf("store thumbnail: %w", err)
		}
	}
	t.hook.Reach(failpoint.ThumbnailsStaged)
	v, err := t.store.VideoWithPlan(ctx, id)
	if err != nil && video.KindOf(err) != video.NotFound {
		return err
	}
	for _, r := range v.Resolutions {
		err := t.store.WithVideoLock(ctx, id, func(tx *store.Tx) error {
			v, err := tx.Video(ctx, id)
			if err != nil || v.Status.Finished() { // another was first, long ago
				return err
			}
			return tx.KeepAliveWhile(ctx, func(ctx context.Context) error { return t.copyThumbnails(ctx, v, r.Name, files) })
		})
		if err != nil {
			return err
		}
	}
	return t.finishPart(ctx, id, queue.Thumbnails, 0, 0, renditionsOf(files, func(f ThumbnailFile) int { return f.Rendition }))
}

// copyThumbnails copies the thumbnails of a resolution to where they are played.
func (t *Tasks) copyThumbnails(ctx context.Context, v video.Video, name video.Name, files []ThumbnailFile) error {
	if _, ok := v.Resolution(name); !ok {
		return nil
	}
	for _, f := range files {
		if f.Rendition != v.Plan.RenditionOf(name) {
			continue
		}
		from, to := objects.StagedThumbnail(v.ID, f.Rendition, f.Thumbnail), objects.Playback(v, objects.ThumbnailFile(name, f.Thumbnail))
		if _, err := t.blobs.Copy(ctx, from, to, ""); err != nil {
			return fmt.Errorf("publish thumbnail: %w", err)
		}
	}
	return nil
}
