package pipeline

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// AddResolution has one more resolution of a video made. One that the video already has stays as it
// is, so a request may be repeated.
func (p *Passes) AddResolution(ctx context.Context, by auth.Actor, id video.ID, name video.Name) error {
	v, err := auth.VisibleVideo(ctx, p.store, by, auth.Write, id)
	if err != nil {
		return err
	}
	if _, has := v.Resolution(name); has {
		return nil
	}
	if err := p.checkSource(ctx, v); err != nil {
		return err
	}
	if err := CheckStorage(ctx, p.store, p.blobs); err != nil {
		return err
	}
	return p.store.InTx(ctx, func(tx *store.Tx) error { return p.addResolution(ctx, tx, id, name) })
}

func (p *Passes) addResolution(ctx context.Context, tx *store.Tx, id video.ID, name video.Name) error {
	if err := tx.Lock(ctx, id); err != nil {
		return err
	}
	v, err := tx.Video(ctx, id)
	if err != nil {
		return err
	}
	if _, has := v.Resolution(name); has {
		return nil // another request was faster
	}
	if err := tx.CheckNotReplaced(ctx, id); err != nil {
		return err
	}
	if err := p.checkSourceLocked(ctx, tx, v); err != nil {
		return err
	}
	if !v.CompletedAt.IsZero() { // files of a deleted resolution of this name may still be there
		if err := RemoveLocked(ctx, tx, p.blobs, objects.PlaybackKeys(v, name)); err != nil {
			return err
		}
	}
	r := video.Resolution{ID: video.ResolutionID(newID()), VideoID: id, Name: name, Status: v.Status, Failure: v.Failure}
	if !v.CompletedAt.IsZero() {
		r.Status, r.Failure = video.Processing, nil
	}
	if err := tx.InsertResolution(ctx, r); err != nil {
		return err
	}
	if err := tx.Did(ctx, video.Act{Action: video.ActionResolutionAdd, Video: id, Target: string(r.ID)}); err != nil {
		return err
	}
	return p.include(ctx, tx, v, name)
}

// RetryResolution has a resolution made again that failed before, and returns its video. If the
// resolution is ready, its failed variants are made again. A resolution that did not fail stays as it is.
func (p *Passes) RetryResolution(ctx context.Context, by auth.Actor, id video.ResolutionID) (video.ID, error) {
	v, err := auth.VideoOfResolution(ctx, p.store, by, auth.Write, id)
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(v.Resolutions, func(r video.Resolution) bool { return r.ID == id && retryable(r) }) {
		return v.ID, nil
	}
	if err := p.checkSource(ctx, v); err != nil {
		return "", err
	}
	err = p.store.InTx(ctx, func(tx *store.Tx) error { return p.retryResolution(ctx, tx, v.ID, id) })
	if video.KindOf(err) == video.NotFound {
		return "", video.ResolutionNotFound()
	}
	return v.ID, err
}

func (p *Passes) retryResolution(ctx context.Context, tx *store.Tx, vid video.ID, id video.ResolutionID) error {
	if err := tx.Lock(ctx, vid); err != nil {
		return err
	}
	v, err := tx.Video(ctx, vid)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(v.Resolutions, func(r video.Resolution) bool { return r.ID == id })
	if i < 0 {
		return video.ResolutionNotFound()
	}
	r := v.Resolutions[i]
	if !retryable(r) {
		return nil
	}
	if err := tx.CheckNotReplaced(ctx, v.ID); err != nil {
		return err
	}
	if v.CompletedAt.IsZero() {
		return &video.Error{Kind: video.Conflict, Code: "upload_failed",
			Msg: "The upload failed. Upload the file and complete it again, or create another video."}
	}
	if err := p.checkSourceLocked(ctx, tx, v); err != nil {
		return err
	}
	if err := tx.Did(ctx, video.Act{Action: video.ActionResolutionRetry, Video: vid, Target: string(id)}); err != nil {
		return err
	}
	if r.Status == video.Ready {
		return p.retryVariants(ctx, tx, v, r)
	}
	if err := tx.MoveResolution(ctx, id, video.Processing, nil); err != nil {
		return err
	}
	return p.include(ctx, tx, v, r.Name)
}

// retryable reports whether something of a resolution has failed that may succeed now.
func retryable(r video.Resolution) bool {
	return r.Status == video.Fail || r.Status == video.Ready && slices.ContainsFunc(r.Variants, failed)
}

func failed(x video.Variant) bool { return x.Status == video.Fail }

// retryVariants has the variants of a ready resolution made again that failed. What is being made of
// other resolutions in their codec begins again, because its chunks lack this one.
func (p *Passes) retryVariants(ctx context.Context, tx *store.Tx, v video.Video, r video.Resolution) error {
	r.Variants = slices.DeleteFunc(slices.Clone(r.Variants), failed)
	if err := tx.SetOutput(ctx, r); err != nil {
		return err
	}
	if v.Status != video.Ready { // the end of the pass starts them
		return nil
	}
	if err := p.Cancel(ctx, tx, v.ID, AfterPass); err != nil {
		return err
	}
	return p.afterPass(ctx, tx, v.ID)
}

// sourceTimeout is how long a request waits for a storage that does not answer.
const sourceTimeout = 5 * time.Second

// checkSource returns source_gone if the source is not kept any more. While a video is processing,
// it is.
func (p *Passes) checkSource(ctx context.Context, v video.Video) error {
	if !v.Status.Finished() || v.CompletedAt.IsZero() {
		return nil
	}
	gone, err := p.sourceGone(ctx, v)
	if gone {
		return &video.Error{Kind: video.Conflict, Code: "source_gone",
			Msg: "The uploaded file of this video was not kept, so no more resolutions can be made. Create another video."}
	}
	return err
}

func (p *Passes) sourceGone(ctx context.Context, v video.Video) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, sourceTimeout)
	defer cancel()
	_, err := p.blobs.Stat(ctx, v.Source.Key)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, blob.ServiceError("find the source", err)
	}
	return false, nil
}

// checkSourceLocked is checkSource under the video's lock, without which no source is removed. The
// caller has checked before without the lock, so that a storage that does not answer holds no lock.
func (p *Passes) checkSourceLocked(ctx context.Context, tx *store.Tx, v video.Video) error {
	return tx.KeepAliveWhile(ctx, func(ctx context.Context) error { return p.checkSource(ctx, v) })
}
