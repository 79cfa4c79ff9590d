package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// Film is an assembled rendition as a worker made it.
type Film struct {
	Path          string
	Width, Height int
	Duration      time.Duration
}

// PublishFilm makes a rendition playable under each name that it serves and
// turns those resolutions ready.
//
// Copying a large film takes minutes on S3, so it is prepared first, unseen. The
// objects appear inside the transaction that holds the video's lock, and a
// deletion takes the same lock first: so either the deletion comes first and
// nothing appears, or it comes later and finds what it has to remove. A file
// that can be played after its deletion was confirmed cannot happen.
func (a *App) PublishFilm(ctx context.Context, id video.ID, rendition int, f Film) error {
	staged, err := a.blobs.PutFile(ctx, stagedKey(id, rendition), f.Path)
	if err != nil {
		return fmt.Errorf("keep film: %w", err)
	}
	copies, err := a.prepareCopies(ctx, id, rendition, staged.Key)
	defer copies.discard()
	if err != nil {
		return err
	}
	a.reached(FilmStaged)
	var kept bool
	var finished video.Status
	err = a.ifWanted(ctx, id, func(tx *store.Tx) error {
		kept = true
		if done, err := tx.FinishStep(ctx, id, string(queue.Assemble), rendition, 0, a.now()); err != nil {
			return err
		} else if !done {
			return a.enqueuePurge(ctx, tx, id, afterWork) // another was first: the staged film may be nobody's
		}
		v, err := tx.Video(ctx, id)
		if err != nil {
			return err
		}
		for i, r := range v.Resolutions {
			if v.Plan.RenditionOf(r.Name) != rendition || r.Status != video.Processing {
				continue
			}
			r.Width, r.Height, r.SizeBytes, r.Bitrate = f.Width, f.Height, staged.Size, bitrate(staged.Size, f.Duration)
			if err := a.publish(ctx, tx, v, r, copies); err != nil {
				return err
			}
			v.Resolutions[i].Status = video.Ready
		}
		if finished, err = a.settle(ctx, tx, v, nil); err != nil {
			return err
		}
		a.reached(FilmPublished)
		return a.retireIfDone(ctx, tx, id)
	})
	if err == nil && !kept {
		return a.removeWork(ctx, id)
	}
	if err == nil {
		a.finished(ctx, id, finished, nil)
	}
	return err
}

func (a *App) publish(ctx context.Context, tx *store.Tx, v video.Video, r video.Resolution, c *copies) error {
	err := tx.KeepAliveWhile(ctx, func(ctx context.Context) error { return c.publish(ctx, v, r.Name) })
	if err != nil {
		return fmt.Errorf("publish %s: %w", r.Name, err)
	}
	if err := tx.SetOutput(ctx, r); err != nil {
		return err
	}
	return tx.MoveResolution(ctx, r.ID, video.Ready, nil)
}

// copies are those of a film under the names that it serves.
type copies struct {
	blobs    blob.Store
	staged   string
	prepared map[video.Name]blob.Prepared // not yet published; those missing are copied when their time comes
}

// prepareCopies has a film copied, where that takes long. It returns copies also
// with an error, to be discarded.
func (a *App) prepareCopies(ctx context.Context, id video.ID, rendition int, staged string) (*copies, error) {
	c := &copies{blobs: a.blobs, staged: staged, prepared: map[video.Name]blob.Prepared{}}
	v, err := a.store.VideoWithPlan(ctx, id)
	if video.KindOf(err) == video.NotFound || err == nil && (v.Plan == nil || !v.DeletedAt.IsZero()) {
		return c, nil // nobody wants it any more
	}
	if err != nil {
		return c, err
	}
	for _, r := range v.Resolutions {
		if v.Plan.RenditionOf(r.Name) != rendition || r.Status != video.Processing {
			continue
		}
		p, err := a.blobs.Prepare(ctx, staged, playFolder(v)+filmFile(r.Name))
		if errors.Is(err, fs.ErrNotExist) {
			return c, nil // another was first, and the film was purged: the transaction will tell
		}
		if err != nil {
			return c, fmt.Errorf("publish %s: %w", r.Name, err)
		}
		c.prepared[r.Name] = p
	}
	return c, nil
}

// publish makes the film visible under a name.
func (c *copies) publish(ctx context.Context, v video.Video, n video.Name) error {
	p, ok := c.prepared[n]
	if !ok {
		_, err := c.blobs.Copy(ctx, c.staged, playFolder(v)+filmFile(n), "")
		return err
	}
	delete(c.prepared, n) // if the transaction collides and runs again, it is copied again
	defer p.Discard()
	_, err := p.Publish(ctx)
	return err
}

func (c *copies) discard() {
	for _, p := range c.prepared {
		p.Discard()
	}
}

func bitrate(size int64, d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64(float64(size) * 8 / d.Seconds())
}

// retireIfDone has a video's left-overs removed when no step is open any more,
// unless more resolutions are to be made meanwhile.
func (a *App) retireIfDone(ctx context.Context, tx *store.Tx, id video.ID) error {
	steps, err := tx.Steps(ctx, id)
	if err != nil || underWay(steps) {
		return err
	}
	v, err := tx.Video(ctx, id)
	if err != nil {
		return err
	}
	if len(v.Unplanned()) > 0 {
		return a.nextRound(ctx, tx, v)
	}
	if err := tx.DropSteps(ctx, id); err != nil {
		return err
	}
	if err := a.measureIfReady(ctx, tx, id); err != nil {
		return err
	}
	return a.enqueuePurge(ctx, tx, id, afterWork)
}

// ThumbnailFile is one still picture as a worker made it.
type ThumbnailFile struct {
	Rendition int
	Thumbnail int
	Path      string
}

// PublishThumbnails makes still pictures visible, as PublishFilm does for
// films: one short transaction for each resolution.
func (a *App) PublishThumbnails(ctx context.Context, id video.ID, files []ThumbnailFile) error {
	for _, f := range files {
		if _, err := a.blobs.PutFile(ctx, stagedThumbnailKey(id, f.Rendition, f.Thumbnail), f.Path); err != nil {
			return fmt.Errorf("keep thumbnail: %w", err)
		}
	}
	a.reached(ThumbnailsStaged)
	v, err := a.store.VideoWithPlan(ctx, id)
	if err != nil && video.KindOf(err) != video.NotFound {
		return err
	}
	for _, r := range v.Resolutions {
		err := a.ifWanted(ctx, id, func(tx *store.Tx) error {
			v, err := tx.Video(ctx, id)
			if err != nil || v.Status.Finished() { // another was first, long ago
				return err
			}
			return tx.KeepAliveWhile(ctx, func(ctx context.Context) error { return a.publishThumbnails(ctx, v, r.Name, files) })
		})
		if err != nil {
			return err
		}
	}
	return a.finishPart(ctx, id, queue.Thumbnails, 0, 0, renditionsOf(files, func(f ThumbnailFile) int { return f.Rendition }))
}

func (a *App) publishThumbnails(ctx context.Context, v video.Video, name video.Name, files []ThumbnailFile) error {
	if _, ok := v.Resolution(name); !ok {
		return nil
	}
	for _, f := range files {
		if f.Rendition != v.Plan.RenditionOf(name) {
			continue
		}
		from, to := stagedThumbnailKey(v.ID, f.Rendition, f.Thumbnail), playFolder(v)+thumbnailFile(name, f.Thumbnail)
		if _, err := a.blobs.Copy(ctx, from, to, ""); err != nil {
			return fmt.Errorf("publish thumbnail: %w", err)
		}
	}
	return nil
}

// SkipThumbnails goes on without still pictures: they never fail a video.
func (a *App) SkipThumbnails(ctx context.Context, id video.ID) error {
	return a.finishPart(ctx, id, queue.Thumbnails, 0, 0, nil)
}
