package uploads

import (
	"context"
	"io"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/tenants"
	"github.com/spool-video/spool/internal/video"
)

// trackTime is how long the file of a sound track may take to arrive. A sweep keeps what has not been recorded for longer.
const trackTime = 12 * time.Hour

// StoreTrack stores a file of which a sound track of a video will be made, and returns its key. The caller records the
// key, or removes the file with DiscardTrack; if the process dies before, a sweep does. length is -1 where it is not known.
func (s *Service) StoreTrack(ctx context.Context, v video.Video, body io.Reader, length int64) (key string, err error) {
	if length > pipeline.MaxTrackBytes {
		return "", tooLarge(length, pipeline.MaxTrackBytes)
	}
	now := s.now()
	usage, err := tenants.UsageOf(ctx, s.store.Queries, v.Tenant, now)
	if err != nil {
		return "", err
	}
	if err := usage.CheckFile(length); err != nil {
		return "", err
	}
	leave, err := s.slots.enter(v)
	if err != nil {
		return "", err
	}
	defer leave()
	if err := s.reserve.Check(length); err != nil {
		return "", err
	}
	in := &putBody{r: body, limit: pipeline.MaxTrackBytes, usage: usage, now: s.now, end: now.Add(trackTime), valid: func() bool { return true }}
	key = objects.NewTrackSource(v.Folder(), now)
	info, err := s.blobs.Put(ctx, key, s.reserve.Reader(in))
	if err != nil {
		return "", uploadError(err)
	}
	s.hook.Reach(failpoint.TrackStored)
	if info.Size == 0 {
		s.DiscardTrack(ctx, key)
		return "", &video.Error{Kind: video.Invalid, Code: "invalid_request", Msg: "The request body is empty. Send the file as the body, or a sourceUrl as JSON."}
	}
	return key, nil
}

// DiscardTrack removes a file that StoreTrack has stored. If that fails, a sweep does it later.
func (s *Service) DiscardTrack(ctx context.Context, key string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), verifyTimeout)
	defer cancel()
	if err := s.blobs.Delete(ctx, key); err != nil {
		s.log.WarnContext(ctx, "could not remove the file of a sound track; a sweep will do it", "err", blob.ServiceError("remove "+key, err))
	}
}

// TrackArrived records the file of which a sound track is made, or why it did not arrive. It reports false, and changes nothing, if
// the track does not wait for it any more. tx holds the lock of the video; v is the video as it was when the file began to
// arrive.
func (s *Service) TrackArrived(ctx context.Context, tx *store.Tx, v video.Video, number int, key string, failure *video.Failure) (bool, error) {
	now, err := tx.Video(ctx, v.ID)
	if err != nil {
		return false, err
	}
	track, ok := now.Sound.Track(number)
	if !ok || track.Status.Finished() || track.Upload != "" || now.Folder() != v.Folder() {
		return false, nil
	}
	if track.Upload = key; failure != nil {
		track.Status, track.Failure = video.Fail, failure
	}
	if err := tx.SetFindings(ctx, v.ID, store.Findings{Sound: now.Sound.With(track)}); err != nil {
		return false, err
	}
	return true, s.passes.StartSound(ctx, tx, v.ID)
}
