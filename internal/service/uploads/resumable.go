package uploads

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// Resumable is the permission to upload the file of a video resumably.
type Resumable struct {
	Video   video.ID
	Key     string    // of the object that the upload becomes
	Expires time.Time // when the permission ends
	Limit   int64     // the largest file
	Sound   bool      // a file with sound and no picture will do

	waits time.Time // until when the video waits for it
	end   time.Time // when it is given up, however much still comes; zero: never
	now   func() time.Time
	usage video.Usage // of the tenant, without the file of this video
	enter func() (leave func(), err error)
}

// Enter is called by a request that brings bytes. It fails if too many of them run with the same API
// key. The request calls leave when it ends.
func (r Resumable) Enter() (leave func(), err error) { return r.enter() }

// Body returns the bytes of a request. Reading fails once the upload is given up, because later bytes would be
// lost.
func (r Resumable) Body(src io.Reader) io.Reader {
	if r.end.IsZero() {
		return src
	}
	return &lateBody{src, r.end, r.now}
}

type lateBody struct {
	src io.Reader
	end time.Time
	now func() time.Time
}

func (b *lateBody) Read(p []byte) (int, error) {
	n, err := b.src.Read(p)
	if b.now().After(b.end) {
		return 0, &video.Error{Kind: video.Forbidden, Code: "url_expired",
			Msg: "The upload URL expired long before the upload ended, so the upload was removed. Create a new video."}
	}
	return n, err
}

// CheckSize returns an error if a file of this size is not accepted.
func (r Resumable) CheckSize(size int64) error {
	if size > r.Limit {
		return tooLarge(size, r.Limit)
	}
	return r.usage.CheckFile(size)
}

// OpenResumable checks the address of a resumable upload, and that the video still accepts a file.
func (s *Service) OpenResumable(ctx context.Context, token string, id video.ID) (Resumable, error) {
	if err := s.keys.Verify(ctx, sign.Resume, string(id), token); err != nil {
		return Resumable{}, err
	}
	v, err := s.openForUpload(ctx, id)
	if err != nil {
		return Resumable{}, err
	}
	if v.Failure != nil && v.Failure.Code == video.UploadExpired {
		return Resumable{}, &video.Error{Kind: video.Forbidden, Code: "url_expired", Msg: "This upload was removed because nothing came for too long. Create a new video."}
	}
	usage, err := s.usageWithout(ctx, v)
	if err != nil {
		return Resumable{}, err
	}
	expires := sign.Expiry(token)
	end := latest(expires, v.UploadExpiresAt).Add(s.config.AbandonedAfter)
	return Resumable{
		Video: id, Key: objects.Upload(id), Expires: expires, Limit: s.config.MaxResumableBytes,
		waits: v.UploadExpiresAt, end: end, now: s.now, usage: usage, enter: func() (func(), error) { return s.slots.enter(v) },
	}, nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// OpenFetched returns the permission to store the file of a video that is imported. It is a resumable
// upload, so that a fetch can continue where it was interrupted.
func (s *Service) OpenFetched(ctx context.Context, id video.ID) (Resumable, error) {
	v, err := s.openForUpload(ctx, id)
	if err != nil {
		return Resumable{}, err
	}
	usage, err := s.usageWithout(ctx, v)
	if err != nil {
		return Resumable{}, err
	}
	return Resumable{
		Video: id, Key: objects.Upload(id), Expires: v.UploadExpiresAt, Limit: s.config.MaxResumableBytes, Sound: v.AcceptAudio,
		waits: v.UploadExpiresAt, usage: usage, enter: func() (func(), error) { return func() {}, nil },
	}, nil
}

// BeginResumable prepares for a file of length bytes, or of an unknown length if that is negative.
// What was uploaded before is removed. From now on the video waits for its upload for as long as the
// address lives, so that nothing of it is swept.
func (s *Service) BeginResumable(ctx context.Context, r Resumable, length int64) error {
	if err := r.CheckSize(length); err != nil {
		return err
	}
	if err := s.reserve.Check(length); err != nil {
		return err
	}
	if err := s.ContinueResumable(ctx, r); err != nil {
		return err
	}
	if err := s.Discard(ctx, r.Video); err != nil {
		return err
	}
	s.beginHash(ctx, r.Video)
	return nil
}

// ContinueResumable has the video wait for an upload that was begun for as long as this address
// lives. An address from a repeated create request lives longer than the one that the upload was
// begun with.
func (s *Service) ContinueResumable(ctx context.Context, r Resumable) error {
	if !r.waits.Before(r.Expires) {
		return nil
	}
	return s.store.KeepUploadOpen(ctx, r.Video, r.Expires)
}

// StoredBytes returns the size of the whole file, or -1 while the file is not complete.
func (s *Service) StoredBytes(ctx context.Context, id video.ID) (int64, error) {
	info, err := s.stored(ctx, id)
	return info.Size, err
}

// stored describes the whole file. Its size is -1 while the file is not complete.
func (s *Service) stored(ctx context.Context, id video.ID) (blob.Info, error) {
	info, err := s.blobs.Stat(ctx, objects.Upload(id))
	if errors.Is(err, fs.ErrNotExist) {
		return blob.Info{Size: -1}, nil
	}
	if err != nil {
		return blob.Info{Size: -1}, blob.ServiceError("find the upload", err)
	}
	return info, nil
}

// FinishResumable is called when all bytes have come. They are in file, or, with an empty name, in
// place already.
func (s *Service) FinishResumable(ctx context.Context, id video.ID, file string) error {
	info, err := s.putInPlace(ctx, id, file)
	if err != nil {
		return err
	}
	s.hook.Reach(failpoint.UploadStored)
	s.finishHash(ctx, id, info)
	if err := s.countStored(ctx, id, max(info.Size, 0)); err != nil {
		return err
	}
	return s.DiscardIfClosed(ctx, id)
}

// putInPlace puts a file in place, unless it is there already, and describes it.
func (s *Service) putInPlace(ctx context.Context, id video.ID, file string) (blob.Info, error) {
	if file == "" {
		return s.stored(ctx, id)
	}
	info, err := s.blobs.PutFile(ctx, objects.Upload(id), file)
	if err != nil {
		return blob.Info{}, uploadError(err)
	}
	s.uploaded(info.Size)
	return info, nil
}
