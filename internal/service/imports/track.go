package imports

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// maxTrackTries is how often the file of a sound track is asked for that does not arrive.
const maxTrackTries = 6

// InsertTrack has the file of a sound track fetched, in the transaction that adds the track.
func (s *Service) InsertTrack(ctx context.Context, tx *store.Tx, v video.Video, number int, address string) error {
	if _, err := tx.Exec(ctx, "insert track import", `INSERT INTO track_import (video_id, number, url) VALUES ($1, $2, $3)`, v.ID, number, address); err != nil {
		return err
	}
	return s.queue.Enqueue(ctx, tx, trackTask(v, number))
}

func trackTask(v video.Video, number int) queue.Task {
	return queue.Task{Kind: queue.ImportTrack, Video: v.ID, Number: number, Tenant: v.Tenant}
}

// tryTrack tries once to fetch the file of a sound track. It is small enough to begin again when it breaks off.
func (s *Service) tryTrack(ctx context.Context, t queue.Task) (Outcome, error) {
	v, address, err := s.readTrack(ctx, t)
	if err != nil || address == "" { // the track was deleted, or has arrived
		return OutcomeWaiting, err
	}
	key, err := s.fetchTrack(ctx, v, address)
	var failure *video.Failure
	if err != nil {
		var again error
		if failure, again = s.judgeTrack(ctx, t, err); again != nil {
			return OutcomeRetry, again
		}
	}
	ctx = context.WithoutCancel(ctx)
	recorded := false
	err = s.store.WithVideoLock(ctx, t.Video, func(tx *store.Tx) (err error) {
		if recorded, err = s.uploads.TrackArrived(ctx, tx, v, t.Number, key, failure); err != nil {
			return err
		}
		if err := ForgetTrack(ctx, tx, t.Video, t.Number); err != nil {
			return err
		}
		return s.queue.Complete(ctx, tx)
	})
	if key != "" && (err != nil || !recorded) {
		s.uploads.DiscardTrack(ctx, key)
	}
	if failure != nil {
		return OutcomeFailed, err
	}
	return OutcomeCompleted, err
}

// readTrack returns the video of a task, and the address to fetch from; "": there is nothing to do.
func (s *Service) readTrack(ctx context.Context, t queue.Task) (v video.Video, address string, err error) {
	if v, err = s.store.Video(ctx, t.Video); err != nil || !v.DeletedAt.IsZero() {
		if video.KindOf(err) == video.NotFound {
			err = nil
		}
		return v, "", err
	}
	err = s.store.QueryRow(ctx, `SELECT url FROM track_import WHERE video_id = $1 AND number = $2`, t.Video, t.Number).Scan(&address)
	if errors.Is(err, sql.ErrNoRows) {
		return v, "", nil
	}
	return v, address, store.Wrap("read track import", err)
}

// fetchTrack stores the file at an address, and returns its key.
func (s *Service) fetchTrack(ctx context.Context, v video.Video, address string) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer time.AfterFunc(s.config.TotalTimeout/24, func() { cancel(errTooLong) }).Stop()
	f := &fetch{Service: s, row: row{video: v.ID, url: address}}
	res, err := f.request(ctx, 0)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var count atomic.Int64
	in := &body{ctx: ctx, cancel: cancel, src: res.Body, left: res.ContentLength, check: func(int64) error { return nil }, timing: s.config.Timing, count: &count}
	key, err := s.uploads.StoreTrack(ctx, v, io.Reader(in), res.ContentLength)
	switch {
	case err == nil && in.err == nil && (res.ContentLength < 0 || count.Load() == res.ContentLength):
		return key, nil
	case key != "":
		s.uploads.DiscardTrack(ctx, key)
	}
	if in.err != nil {
		return "", in.err
	}
	if err == nil {
		err = requestError(errCut)
	}
	return "", err
}

// judgeTrack says what follows from a try that failed: the track fails, or it is tried again.
func (s *Service) judgeTrack(ctx context.Context, t queue.Task, err error) (f *video.Failure, again error) {
	remote, isRemote := errors.AsType[*remoteError](err)
	refused, isRefused := errors.AsType[*video.Error](err)
	switch {
	case ctx.Err() != nil:
		return nil, queue.RetryAfter(s.config.RetryPause, context.Cause(ctx))
	case isRemote && (remote.final || t.Attempt >= maxTrackTries):
		return remote.failure, nil
	case isRemote:
		return nil, queue.RetryAfter(max(s.config.retryPause(t.Attempt), min(remote.after, s.config.GiveUpAfter)), errAgain)
	case isRefused && refused.Kind == video.TooLarge:
		return video.Failf(video.ImportTooLarge, "%s", refused.Msg), nil
	case isRefused && refused.Kind == video.Forbidden:
		return video.Failf(video.QuotaExceeded, "%s", refused.Msg), nil
	case isRefused && refused.Kind == video.Invalid:
		return video.Failf(video.UploadEmpty, "The file at the sourceUrl is empty, or was not sent to its end."), nil
	}
	s.log.WarnContext(ctx, "the file of a sound track cannot be fetched now; it is tried again", "video", t.Video, "err", err)
	return nil, queue.RetryAfter(s.config.OwnPause, errAgain)
}

// ForgetTracks removes the imports of sound tracks of a video that is deleted: their URLs may hold passwords.
func ForgetTracks(ctx context.Context, tx *store.Tx, id video.ID) error {
	_, err := tx.Exec(ctx, "forget track imports", `DELETE FROM track_import WHERE video_id = $1`, id)
	return err
}

// ForgetTrack removes one of them.
func ForgetTrack(ctx context.Context, tx *store.Tx, id video.ID, number int) error {
	_, err := tx.Exec(ctx, "forget track import", `DELETE FROM track_import WHERE video_id = $1 AND number = $2`, id, number)
	return err
}
