package imports

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/panics"
	"github.com/spool-video/spool/internal/video"
)

const (
	// progressEvery is how often the progress of a running fetch is stored.
	progressEvery = 2 * time.Second
	// recordTime is how long recording the end of a try may take after it was stopped.
	recordTime = 15 * time.Second
)

// Handler returns what does the tasks of imports: one try each.
func (s *Service) Handler(storage Storage) queue.Handler {
	return func(ctx context.Context, t queue.Task) (err error) {
		s.started()
		outcome := OutcomeWaiting // also after a panic
		defer func() { s.ended(outcome) }()
		if t.Kind == queue.ImportTrack {
			outcome, err = s.tryTrack(ctx, t)
			return err
		}
		outcome, err = s.try(ctx, storage, t.Video)
		return err
	}
}

// try tries once to fetch the file of a video, and records what became of it.
func (s *Service) try(task context.Context, storage Storage, id video.ID) (Outcome, error) {
	ctx, cancel := context.WithCancelCause(task)
	defer cancel(nil)
	f := &fetch{Service: s, storage: storage, row: row{video: id}}
	f.size.Store(-1)
	began := s.now()
	var err error
	if f.lease, err = s.leases.Acquire(ctx, id, func() { cancel(errLost) }); err == nil {
		defer f.lease.Release()
		err = f.fetchAll(ctx, cancel)
	}
	switch {
	case err == nil:
		return OutcomeCompleted, nil
	case task.Err() != nil:
		err = context.Cause(task)
	case errors.Is(context.Cause(ctx), errLost):
		err = errLost
	}
	closing, done := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer done()
	return f.conclude(closing, began, err)
}

// fetchAll fetches what is missing and completes the video.
func (f *fetch) fetchAll(ctx context.Context, cancel context.CancelCauseFunc) error {
	err := f.store.InTx(ctx, func(tx *store.Tx) (err error) {
		f.row, err = beginTry(ctx, tx, f.row.video, f.now())
		return err
	})
	if err != nil {
		return err
	}
	// A slow server must not keep other imports waiting for ever.
	left := max(f.row.startedAt.Add(f.config.TotalTimeout).Sub(f.now()), f.config.TotalTimeout/24)
	defer time.AfterFunc(left, func() { cancel(errTooLong) }).Stop()

	following, stop := context.WithCancel(ctx)
	var progress sync.WaitGroup
	progress.Go(func() {
		panics.Log(ctx, f.log, "storing the progress of an import panicked", func() { f.followProgress(following) })
	})
	err = f.fetchMissing(ctx, cancel)
	stop()
	progress.Wait()
	if err != nil {
		return err
	}
	return f.uploads.CompleteFetched(context.WithoutCancel(ctx), f.row.video, func(ctx context.Context, tx *store.Tx) error {
		if err := finish(ctx, tx, f.row.video); err != nil {
			return err
		}
		return f.queue.Complete(ctx, tx)
	})
}

// followProgress stores the progress until ctx ends.
func (f *fetch) followProgress(ctx context.Context) {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	stored := -1.0
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if now := f.progress(); now >= 0 && now != stored && f.storeProgress(ctx) == nil {
			stored = now
		}
	}
}

func (f *fetch) storeProgress(ctx context.Context) error {
	return f.store.InTx(ctx, func(tx *store.Tx) error { return f.progressIn(ctx, tx) })
}

// progressIn stores how much of the file has arrived, unless this try cannot tell.
func (f *fetch) progressIn(ctx context.Context, tx *store.Tx) error {
	progress := f.progress()
	if progress < 0 {
		return nil
	}
	return tx.SetImportProgress(ctx, f.row.video, progress)
}

// change changes the import in a transaction, as long as no other process has the upload. The video comes first,
// as in a deletion: with another order, two transactions could wait for each other.
func (f *fetch) change(ctx context.Context, change func(tx *store.Tx) error) error {
	return f.store.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, f.row.video); err != nil {
			return err
		}
		held, err := f.lease.Hold(ctx, tx)
		if err != nil {
			return err
		}
		if !held {
			return errLost
		}
		return change(tx)
	})
}

// conclude records what follows from a try that did not complete the video.
func (f *fetch) conclude(ctx context.Context, began time.Time, err error) (Outcome, error) {
	remote, isRemote := errors.AsType[*remoteError](err)
	failure, failed := errors.AsType[*video.Failure](err)
	kind := video.KindOf(err)
	switch {
	case errors.Is(err, queue.ErrCancelled): // the video was deleted, or another process has the task
		return OutcomeWaiting, err
	case errors.Is(err, queue.ErrStopping) || errors.Is(err, errLost):
		_ = f.storeProgress(ctx) // the next try tells it, too
		return OutcomeWaiting, queue.RetryAfter(f.config.RetryPause, err)
	case isRemote:
		return f.concludeRemote(ctx, began, remote)
	case failed:
		return f.fail(ctx, failure, err)
	case kind == video.NotFound || kind == video.Conflict: // it was deleted, or is completed
		return OutcomeWaiting, nil
	case kind == video.TooLarge:
		return f.fail(ctx, video.Failf(video.ImportTooLarge, "%s", sentence(err)), err)
	case kind == video.Forbidden && !isTemporary(err):
		return f.fail(ctx, video.Failf(video.QuotaExceeded, "%s", sentence(err)), err)
	}
	_ = f.storeProgress(ctx) // the same
	return f.wait(ctx, "a file cannot be fetched now; it is tried again", err)
}

// wait has another try follow after trouble of our own.
func (f *fetch) wait(ctx context.Context, message string, err error) (Outcome, error) {
	f.log.WarnContext(ctx, message, "video", f.row.video, "err", err)
	return OutcomeWaiting, queue.RetryAfter(f.config.OwnPause, errAgain)
}

func sentence(err error) string {
	if e, ok := errors.AsType[*video.Error](err); ok {
		return e.Msg
	}
	return err.Error()
}

// isTemporary reports whether a limit of the tenant will allow the file soon, such as the limit of videos in work.
func isTemporary(err error) bool {
	e, ok := errors.AsType[*video.Error](err)
	return ok && e.RetryAfter > 0
}

// concludeRemote has another try follow, unless there were enough that brought nothing. What has arrived is stored
// now: tries may be shorter than the time between two reports.
func (f *fetch) concludeRemote(ctx context.Context, began time.Time, e *remoteError) (Outcome, error) {
	r, had, now := &f.row, f.had.Load(), f.now()
	if had >= r.peak+minProgress {
		r.tries, r.troubleAt, began = 0, time.Time{}, now
	}
	r.peak = max(r.peak, had)
	r.tries++
	if r.troubleAt.IsZero() {
		r.troubleAt = began
	}
	last := r.troubleAt.Add(f.config.GiveUpAfter)
	if e.final || r.tries >= minTries && !now.Before(last) {
		return f.fail(ctx, e.failure, e.err)
	}
	next := now.Add(max(f.config.retryPause(r.tries), min(e.after, f.config.GiveUpAfter)))
	if next.After(last) && now.Before(last) {
		next = last // the last try
	}
	f.log.InfoContext(ctx, "fetching a file broke off; it is tried again", "video", r.video, "host", hostOf(r.url), "bytes", had, "err", e.err)
	err := f.change(ctx, func(tx *store.Tx) error {
		if err := f.progressIn(ctx, tx); err != nil {
			return err
		}
		return setTries(ctx, tx, *r)
	})
	if err != nil {
		f.log.WarnContext(ctx, "could not record the end of a fetch; it is tried again", "video", r.video, "err", err)
	}
	return OutcomeRetry, queue.RetryAfter(next.Sub(now), errAgain)
}

// hostOf is what the log may say of an address: the rest may hold credentials.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// fail fails the video. What was fetched stays if another try may use it, and goes before the failure
// is told: from then on a client may have it tried again.
func (f *fetch) fail(ctx context.Context, why *video.Failure, cause error) (Outcome, error) {
	if why.Code != video.ImportUnreachable {
		if err := f.discard(ctx); err != nil {
			return f.wait(ctx, "could not remove a file that was fetched; it is tried again", err)
		}
	}
	var failed bool
	err := f.change(ctx, func(tx *store.Tx) (err error) {
		if failed, err = failVideo(ctx, tx, f.row.video, why, f.now()); err != nil {
			return err
		}
		return f.queue.Complete(ctx, tx)
	})
	if err != nil {
		return f.wait(ctx, "could not record that a file cannot be fetched; it is tried again", err)
	}
	if failed {
		f.log.InfoContext(ctx, "a file could not be fetched", "video", f.row.video, "host", hostOf(f.row.url), "code", why.Code, "err", cause)
		f.finished(video.Fail, why)
	}
	return OutcomeFailed, nil
}

// discard removes what was fetched, unless it belongs to another process now.
func (f *fetch) discard(ctx context.Context) error {
	if err := f.change(ctx, func(*store.Tx) error { return nil }); err != nil {
		return err
	}
	return f.uploads.Discard(ctx, f.row.video)
}
