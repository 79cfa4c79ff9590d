package imports

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/panics"
	"github.com/spool-video/spool/internal/video"
)

// tryImport tries a claimed import once, and records what became of it.
func (s *Service) tryImport(parent context.Context, storage Storage, claimed store.Import) Outcome {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	f := &fetch{Service: s, storage: storage, claimed: claimed}
	f.size.Store(-1)
	// The claim is kept until the outcome is recorded, also after a stop.
	kept, end := context.WithCancel(context.WithoutCancel(ctx))
	var keeping sync.WaitGroup
	keeping.Go(func() {
		panics.Log(kept, s.log, "keeping the claim of an import panicked", func() { f.renewClaim(kept, cancel) })
	})
	defer keeping.Wait()
	defer end()
	// A slow server must not keep other imports waiting for ever.
	left := max(claimed.StartedAt.Add(s.config.TotalTimeout).Sub(s.now()), s.config.TotalTimeout/24)
	defer time.AfterFunc(left, func() { cancel(errTooLong) }).Stop()

	began := s.now()
	lease, err := s.leases.Acquire(ctx, claimed.Video, func() { cancel(errStopped) })
	if err == nil {
		defer lease.Release()
		f.lease = lease
		if err = f.fetchMissing(ctx, cancel); err == nil {
			err = s.uploads.CompleteFetched(context.WithoutCancel(ctx), claimed.Video)
		}
	}
	if err != nil && parent.Err() != nil {
		err = errStopped
	} else if cause := context.Cause(ctx); err != nil && (errors.Is(cause, errLost) || errors.Is(cause, errStopped)) {
		err = cause
	}
	closing, done := context.WithTimeout(context.WithoutCancel(ctx), claimTTL)
	defer done()
	return s.conclude(closing, f, began, err)
}

// renewClaim renews the claim and stores the progress until ctx ends. It cancels the fetch when the claim is
// lost, or may be.
func (f *fetch) renewClaim(ctx context.Context, cancel context.CancelCauseFunc) {
	ticker := time.NewTicker(renewEvery)
	defer ticker.Stop()
	renewed := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		asked := time.Now()
		mine, err := f.rows.Renew(ctx, store.Import{Video: f.claimed.Video, Lease: f.claimed.Lease}, f.now().Add(claimTTL), f.progress())
		switch {
		case ctx.Err() != nil:
			return
		case mine:
			renewed = asked
		case err == nil || time.Since(renewed) > claimTTL-renewEvery:
			cancel(errLost)
			return
		}
	}
}

// conclude records what follows from a try.
func (s *Service) conclude(ctx context.Context, f *fetch, began time.Time, err error) Outcome {
	claimed := f.claimed
	remote, isRemote := errors.AsType[*remoteError](err)
	failure, failed := errors.AsType[*video.Failure](err)
	kind := video.KindOf(err)
	switch {
	case err == nil:
		return OutcomeCompleted
	case errors.Is(err, errLost):
		return OutcomeWaiting
	case errors.Is(err, errStopped):
		return s.postpone(ctx, f, claimed, s.now(), OutcomeWaiting)
	case isRemote:
		return s.concludeRemote(ctx, f, began, remote)
	case failed:
		return s.fail(ctx, f, claimed, failure, err)
	case kind == video.NotFound || kind == video.Conflict: // it was deleted, or is completed
		return OutcomeWaiting
	case kind == video.TooLarge:
		return s.fail(ctx, f, claimed, video.Failf(video.ImportTooLarge, "%s", sentence(err)), err)
	case kind == video.Forbidden && !isTemporary(err):
		return s.fail(ctx, f, claimed, video.Failf(video.QuotaExceeded, "%s", sentence(err)), err)
	}
	s.log.WarnContext(ctx, "a file cannot be fetched now; it is tried again", "video", claimed.Video, "err", err)
	return s.postpone(ctx, f, claimed, s.now().Add(s.config.OwnPause), OutcomeWaiting)
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

// concludeRemote has another try follow, unless there were enough that brought nothing.
func (s *Service) concludeRemote(ctx context.Context, f *fetch, began time.Time, e *remoteError) Outcome {
	claimed, had, now := f.claimed, f.had.Load(), s.now()
	if had >= claimed.Peak+minProgress {
		claimed.Tries, claimed.TroubleAt, began = 0, time.Time{}, now
	}
	claimed.Peak = max(claimed.Peak, had)
	claimed.Tries++
	if claimed.TroubleAt.IsZero() {
		claimed.TroubleAt = began
	}
	last := claimed.TroubleAt.Add(s.config.GiveUpAfter)
	if e.final || claimed.Tries >= minTries && !now.Before(last) {
		return s.fail(ctx, f, claimed, e.failure, e.err)
	}
	next := now.Add(max(s.config.retryPause(claimed.Tries), min(e.after, s.config.GiveUpAfter)))
	if next.After(last) && now.Before(last) {
		next = last // the last try
	}
	s.log.InfoContext(ctx, "fetching a file broke off; it is tried again", "video", claimed.Video, "host", hostOf(claimed.URL), "bytes", had, "err", e.err)
	return s.postpone(ctx, f, claimed, next, OutcomeRetry)
}

// hostOf is what the log may say of an address: the rest may hold credentials.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// postpone has another try follow. What has arrived is told now: tries may be shorter than the time between two renewals.
func (s *Service) postpone(ctx context.Context, f *fetch, claimed store.Import, next time.Time, o Outcome) Outcome {
	if err := s.rows.Postpone(ctx, claimed, next, f.progress()); err != nil {
		s.log.WarnContext(ctx, "could not record the end of a fetch; its claim ends by itself", "video", claimed.Video, "err", err)
	}
	return o
}

// fail fails the video. What was fetched stays if another try may use it, and goes before the failure
// is told: from then on a client may have it tried again.
func (s *Service) fail(ctx context.Context, f *fetch, claimed store.Import, why *video.Failure, cause error) Outcome {
	if why.Code != video.ImportUnreachable {
		switch mine, err := s.discard(ctx, f); {
		case err != nil:
			s.log.WarnContext(ctx, "could not remove a file that was fetched; it is tried again", "video", claimed.Video, "err", err)
			return s.postpone(ctx, f, claimed, s.now().Add(s.config.OwnPause), OutcomeWaiting)
		case !mine:
			return OutcomeWaiting
		}
	}
	var failed bool
	err := s.store.InTx(ctx, func(tx *store.Tx) (err error) {
		failed, err = store.ImportsIn(tx).Fail(ctx, claimed, why, s.now())
		return err
	})
	if err != nil {
		s.log.WarnContext(ctx, "could not record that a file cannot be fetched; it is tried again", "video", claimed.Video, "err", err)
		return OutcomeWaiting
	}
	if failed {
		s.log.InfoContext(ctx, "a file could not be fetched", "video", claimed.Video, "host", hostOf(claimed.URL), "code", why.Code, "err", cause)
		s.finished(video.Fail, why)
	}
	return OutcomeFailed
}

// discard removes what was fetched. It reports false, and removes nothing, if the claim was lost: what is
// stored then belongs to the new holder of the claim.
func (s *Service) discard(ctx context.Context, f *fetch) (mine bool, err error) {
	if mine, err = s.rows.Renew(ctx, f.claimed, s.now().Add(claimTTL), f.progress()); err != nil || !mine {
		return false, err
	}
	return true, s.uploads.Discard(ctx, f.claimed.Video)
}
