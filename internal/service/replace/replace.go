// Package replace has the file of one video replace the file of another.
//
// The new file is a video of its own at first, which is hidden (video.Video.Replaces): it is uploaded, verified and
// encoded like any other, and fails like any other. When it is ready, one transaction gives the other video its file and
// all that was made of it, and removes its row. Nothing is copied for that but what clients have uploaded beside the file:
// from then on, the objects of the video lie in the folder of the hidden one. The objects before stay for a while, for those
// who are watching.
package replace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/cdn"
	"github.com/spool-video/spool/internal/service/chapters"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/words"
	"github.com/spool-video/spool/internal/video"
)

// Grace is how long the objects of a file are kept after it was replaced.
const Grace = 10 * time.Minute

// Service replaces files.
type Service struct {
	store  *store.Store
	blobs  blob.Store
	passes *pipeline.Passes
	purges *cdn.Recorder
	now    func() time.Time
	log    *slog.Logger
	forget func(video.ID)
	hook   failpoint.Hook
}

// New returns a Service. A CDN is told by way of purges. forget is called for each video whose file was replaced.
func New(s *store.Store, blobs blob.Store, p *pipeline.Passes, purges *cdn.Recorder, now func() time.Time, log *slog.Logger,
	forget func(video.ID), hook failpoint.Hook) *Service {
	return &Service{store: s, blobs: blobs, passes: p, purges: purges, now: now, log: log, forget: forget, hook: hook}
}

// Replace has a hidden video that is ready replace the file of another one. If that was done, or given up, it does
// nothing.
func (s *Service) Replace(ctx context.Context, id video.ID) error {
	c, err := s.store.Video(ctx, id)
	if err == nil && replaces(c) {
		err = s.replace(ctx, c)
	}
	if video.KindOf(err) == video.NotFound { // a client was faster
		return nil
	}
	return err
}

// replaces reports whether a video is a hidden one that is ready.
func replaces(c video.Video) bool {
	return c.Replaces != "" && c.Status == video.Ready && c.DeletedAt.IsZero()
}

func (s *Service) replace(ctx context.Context, c video.Video) error {
	if err := pipeline.CheckStorage(ctx, s.store, s.blobs); err != nil {
		return err
	}
	if err := s.keepPoster(ctx, c); err != nil {
		return err
	}
	s.hook.Reach(failpoint.ReplacePrepared)
	if err := s.store.InTx(ctx, func(tx *store.Tx) error { return s.swap(ctx, tx, c.Replaces, c.ID) }); err != nil {
		return err
	}
	s.forget(c.Replaces)
	s.hook.Reach(failpoint.Replaced)
	return nil
}

// swap gives a video the file of the hidden one. The one that is seen is locked first.
func (s *Service) swap(ctx context.Context, tx *store.Tx, id, hidden video.ID) error {
	for _, id := range []video.ID{id, hidden} {
		if err := tx.Lock(ctx, id); err != nil {
			return err
		}
	}
	v, err := tx.Video(ctx, id)
	if err != nil {
		return err
	}
	c, err := tx.Video(ctx, hidden)
	if err != nil || !replaces(c) {
		return err
	}
	if v.IsPublic != c.IsPublic || v.Moving != "" { // requests that would lead to this are refused
		return fmt.Errorf("replace the file of %s: only one of the two is public", v.ID)
	}
	if c.Files, err = s.carry(ctx, tx, v, c); err != nil {
		return err
	}
	if c.Sound, err = s.carrySound(ctx, tx, v, c); err != nil {
		return err
	}
	if err := s.purges.Video(ctx, tx, cdn.FileReplaced, v.ID); err != nil {
		return err
	}
	if err := chapters.Embed(ctx, tx, v.ID, c.Plan); err != nil {
		return err
	}
	at := s.now()
	now := v.WithFileOf(c, at.Add(Grace))
	now.ReplacedAt = at
	if err := words.Carry(ctx, tx, now, c.ID); err != nil {
		return err
	}
	if err := tx.ReplaceFile(ctx, now, c); err != nil {
		return err
	}
	if err := s.passes.Replaced(ctx, tx, v.ID); err != nil {
		return err
	}
	tx.OnCommit(func() { s.log.InfoContext(ctx, "the file of a video was replaced", "video", v.ID) })
	s.hook.Reach(failpoint.ReplaceWritten)
	return nil
}

// Resume replaces what is ready and was not replaced: its task was given up, or lost.
func (s *Service) Resume(ctx context.Context) error {
	ready, err := s.store.SelectVideos(ctx, `WHERE replaces IS NOT NULL AND status = 'ready' AND deleted_at IS NULL`)
	for _, c := range ready {
		err = errors.Join(err, s.Replace(ctx, c.ID))
	}
	return err
}
