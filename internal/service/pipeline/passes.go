package pipeline

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/tenants"
	"github.com/spool-video/spool/internal/video"
)

// Config is what an operator may choose.
type Config struct {
	KeepSource     bool // keep the source when all resolutions are done
	MeasureQuality bool // compare finished videos with their source
	Pictures       bool // make storyboards, previews, and pictures in other formats than JPEG
}

// Passes starts, continues and ends passes. It is what the API, uploads and deletions call; what
// workers call is Tasks.
type Passes struct {
	config   Config
	store    *store.Store
	queue    queue.Queue
	blobs    blob.Store
	now      func() time.Time
	log      *slog.Logger
	finished func(video.Status, *video.Failure)
}

// NewPasses returns the passes of all videos in a database. finished is called for each video that
// becomes ready or fails.
func NewPasses(c Config, s *store.Store, q queue.Queue, blobs blob.Store, now func() time.Time, log *slog.Logger,
	finished func(video.Status, *video.Failure)) *Passes {
	return &Passes{config: c, store: s, queue: q, blobs: blobs, now: now, log: log, finished: finished}
}

// newID returns ids that sort by the time they were made, which keeps new rows together in the
// database's indexes.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// Start starts the first pass of a video whose upload was accepted in tx. One whose resolutions were all
// deleted before has come to its end.
func (p *Passes) Start(ctx context.Context, tx *store.Tx, id video.ID, tenant video.Tenant) error {
	v, err := tx.Video(ctx, id)
	if err != nil {
		return err
	}
	if len(v.Resolutions) == 0 {
		return p.endEmpty(ctx, tx, v)
	}
	return p.queue.Enqueue(ctx, tx, inspection(id, tenant))
}

// endEmpty ends a processing video of which there is nothing to make.
func (p *Passes) endEmpty(ctx context.Context, tx *store.Tx, v video.Video) error {
	if _, err := p.updateStatus(ctx, tx, v, NoResolutionLeft()); err != nil {
		return err
	}
	return p.Cancel(ctx, tx, v.ID, AfterPass)
}

// inspection is the first task of a pass.
func inspection(id video.ID, tenant video.Tenant) queue.Task {
	return newTask(queue.Inspect, id, tenant, 0)
}

// include makes a resolution that is processing part of the next pass. v is the video as it was
// before.
func (p *Passes) include(ctx context.Context, tx *store.Tx, v video.Video, name video.Name) error {
	if v.CompletedAt.IsZero() {
		return nil // completing the upload will start the first pass
	}
	if v.Plan != nil && v.Plan.RenditionOf(name) >= 0 {
		if err := tx.SetFindings(ctx, v.ID, store.Findings{Plan: v.Plan.Without(name)}); err != nil {
			return err
		}
	}
	if v.Status == video.Processing {
		return nil // the end of the current pass starts the next one
	}
	if err := tx.MoveVideo(ctx, v.ID, video.Processing, nil); err != nil {
		return err
	}
	usage, err := tenants.UsageOf(ctx, tx.Queries, v.Tenant, p.now())
	if err != nil {
		return err
	}
	if err := usage.CheckWork(); err != nil {
		return err
	}
	return p.startNextPass(ctx, tx, v)
}

// startNextPass starts a pass for the resolutions that wait for one. Work left over from the pass before, such
// as a comparison with the source, is cancelled.
func (p *Passes) startNextPass(ctx context.Context, tx *store.Tx, v video.Video) error {
	if err := p.cancelWork(ctx, tx, v.ID); err != nil {
		return err
	}
	return p.queue.Enqueue(ctx, tx, inspection(v.ID, v.Tenant))
}

// skipPass starts the next pass if no resolution needs the result of the current one any more.
func (p *Passes) skipPass(ctx context.Context, tx *store.Tx, v video.Video) error {
	waiting := v.Unplanned()
	awaited := func(r video.Resolution) bool { return !r.Status.Finished() && !slices.Contains(waiting, r.Name) }
	if len(waiting) == 0 || slices.ContainsFunc(v.Resolutions, awaited) {
		return nil
	}
	if steps, err := tx.Steps(ctx, v.ID); err != nil || !passOpen(steps) {
		return err
	}
	return p.startNextPass(ctx, tx, v)
}

// endIfDone ends the current pass if none of its renditions is open, and starts the next one if more
// resolutions were added meanwhile.
func (p *Passes) endIfDone(ctx context.Context, tx *store.Tx, id video.ID) error {
	steps, err := tx.Steps(ctx, id)
	if err != nil || passOpen(steps) {
		return err
	}
	v, err := tx.Video(ctx, id)
	if err != nil {
		return err
	}
	if len(v.Unplanned()) > 0 {
		return p.startNextPass(ctx, tx, v)
	}
	if err := tx.DropSteps(ctx, id); err != nil {
		return err
	}
	if err := p.afterPass(ctx, tx, id); err != nil {
		return err
	}
	return p.enqueuePurge(ctx, tx, id, AfterPass)
}

// ResolutionDeleted gives a video the status that follows from its remaining resolutions, and has the files
// of the resolution that was deleted in tx purged.
func (p *Passes) ResolutionDeleted(ctx context.Context, tx *store.Tx, id video.ID) error {
	v, err := tx.Video(ctx, id)
	if err != nil {
		return err
	}
	if files, stray := v.WithoutStrayVariants(); stray {
		if err := tx.SetFindings(ctx, id, store.Findings{Files: files}); err != nil {
			return err
		}
	}
	ended := false
	if v.Status == video.Processing {
		if ended, err = p.updateStatus(ctx, tx, v, firstFailure(v.Resolutions)); err != nil {
			return err
		}
	}
	if ended {
		if err := p.Cancel(ctx, tx, id, AfterDeletion); err != nil {
			return err
		}
		return p.afterPass(ctx, tx, id)
	}
	if err := p.skipPass(ctx, tx, v); err != nil {
		return err
	}
	return p.enqueuePurge(ctx, tx, id, AfterDeletion)
}

// NoResolutionLeft is why a video failed whose resolutions were all deleted before one was ready.
func NoResolutionLeft() *video.Failure {
	return video.Failf(video.InternalFailure, "Every resolution was deleted before one was ready.")
}

func firstFailure(all []video.Resolution) *video.Failure {
	for _, r := range all {
		if r.Failure != nil {
			return r.Failure
		}
	}
	return NoResolutionLeft()
}
