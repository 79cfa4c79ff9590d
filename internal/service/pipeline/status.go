package pipeline

import (
	"context"
	"slices"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// updateStatus gives a video the status that follows from its resolutions. It reports whether the
// video has just come to its end, and announces that when tx commits. f is why, if it failed.
func (p *Passes) updateStatus(ctx context.Context, tx *store.Tx, v video.Video, f *video.Failure) (ended bool, err error) {
	now := video.Summarize(v.Status, v.Resolutions)
	if now == v.Status || !now.Finished() {
		return false, nil
	}
	if now == video.Ready {
		f = nil
	}
	if err := tx.MoveVideo(ctx, v.ID, now, f); err != nil {
		return false, err
	}
	tx.OnCommit(func() { p.announce(ctx, v.ID, now, f) })
	return true, markEnded(ctx, tx, v.ID, p.now())
}

// announce tells the operator that a video has come to its end.
func (p *Passes) announce(ctx context.Context, id video.ID, s video.Status, f *video.Failure) {
	p.finished(s, f)
	if s == video.Ready {
		p.log.InfoContext(ctx, "video ready", "video", id)
		return
	}
	p.log.InfoContext(ctx, "video failed", "video", id, "code", f.Code, "reason", f.Message)
}

// failUnfinished fails the resolutions of a video that have not come to their end, except some.
func failUnfinished(ctx context.Context, tx *store.Tx, v video.Video, except []video.Name, f *video.Failure) error {
	for i, r := range v.Resolutions {
		if r.Status.Finished() || slices.Contains(except, r.Name) {
			continue
		}
		if err := tx.MoveResolution(ctx, r.ID, video.Fail, f); err != nil {
			return err
		}
		v.Resolutions[i].Status = video.Fail
	}
	return nil
}
