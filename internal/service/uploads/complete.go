package uploads

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// Complete verifies the uploaded file and starts its first pass. Calling it again changes nothing.
func (s *Service) Complete(ctx context.Context, by auth.Actor, id video.ID) (video.Video, error) {
	v, err := s.awaiting(ctx, by, id)
	if err != nil || !v.CompletedAt.IsZero() {
		return v, err
	}
	if v.Imported {
		return video.Video{}, &video.Error{Kind: video.Conflict, Code: "import_unfinished",
			Msg: "Spool fetches the file of this video from its sourceUrl and completes it by itself. If that failed, try again with POST /api/video/{id}/import."}
	}
	accepted, err := s.acceptStable(ctx, v, nil)
	if f, ok := errors.AsType[*video.Failure](err); ok {
		accepted, err = false, s.refuse(ctx, v, f)
	}
	switch {
	case err != nil:
		return video.Video{}, uploadError(err)
	case accepted:
		return processing(v), nil
	default: // another call was faster; what it did stands
		return s.awaiting(ctx, by, id)
	}
}

// awaiting returns the video that the upload for an ID belongs to: the one that will replace the file of the video with
// this ID, if there is one, or that video.
func (s *Service) awaiting(ctx context.Context, by auth.Actor, id video.ID) (video.Video, error) {
	v, err := auth.VisibleVideo(ctx, s.store, by, auth.Write, id)
	if err != nil {
		return v, err
	}
	hidden, found, err := s.store.ReplacementOf(ctx, id)
	if found {
		v = hidden
	}
	return v, err
}

// CompleteFetched does the same for a file that was fetched. finish is called in the transaction that accepts
// the file. A file that does not pass is a *video.Failure; it is up to the caller to record that.
func (s *Service) CompleteFetched(ctx context.Context, id video.ID, finish func(context.Context, *store.Tx) error) error {
	v, err := s.openForUpload(ctx, id)
	if err != nil {
		return err
	}
	usage, err := s.usageWithout(ctx, v)
	if err != nil {
		return err
	}
	usage.InWork++
	if err := usage.CheckWork(); err != nil {
		return err // before it is copied for nothing, again and again
	}
	_, err = s.acceptStable(ctx, v, finish)
	if _, failed := errors.AsType[*video.Failure](err); failed || err == nil {
		return err
	}
	return uploadError(err)
}

// acceptStable is accept for a file that may change while it is verified, and is verified again then.
func (s *Service) acceptStable(ctx context.Context, v video.Video, finish func(context.Context, *store.Tx) error) (accepted bool, err error) {
	for range 3 {
		accepted, err = s.accept(ctx, v, finish)
		if !errors.Is(err, blob.ErrChanged) && !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return accepted, err
}

// processing returns v as it is right after its upload was accepted.
func processing(v video.Video) video.Video {
	v.Status, v.Failure, v.Resolutions = video.Processing, nil, slices.Clone(v.Resolutions)
	for i := range v.Resolutions {
		v.Resolutions[i].Status, v.Resolutions[i].Failure = video.Processing, nil
	}
	return v
}

// CompletionLimit is how long after the beginning of its copy a source may still be recorded. Copies
// that are not recorded are swept when they are much older than that.
const CompletionLimit = 12 * time.Hour

// errTooSlow says that the copy began too long ago. The copy is removed.
var errTooSlow = &video.Error{Kind: video.Unavailable, Code: "storage_unavailable", RetryAfter: time.Minute,
	Msg: "The storage took too long to copy the uploaded file. Try again later."}

// accept verifies the uploaded file, pins it under a key that no upload address reaches, and turns the
// video to processing. A file that does not pass is a *video.Failure. It reports false when another
// call accepted a file before. finish is part of the transaction, unless it is nil.
func (s *Service) accept(ctx context.Context, v video.Video, finish func(context.Context, *store.Tx) error) (bool, error) {
	info, err := s.verify(ctx, v)
	if err != nil {
		return false, err
	}
	if usage, err := s.usageWithout(ctx, v); err != nil {
		return false, err
	} else if err := usage.CheckFile(info.Size); err != nil {
		return false, err // before it is copied for nothing
	}
	return s.pin(ctx, v, info, finish)
}

// didComplete records that a client has completed an upload.
func didComplete(v video.Video) func(context.Context, *store.Tx) error {
	return func(ctx context.Context, tx *store.Tx) error {
		return tx.Did(ctx, video.Act{Action: video.ActionVideoComplete, Video: cmp.Or(v.Replaces, v.ID)})
	}
}

// pin copies a file to a key of its own, records it as the source of a video and starts the first pass.
func (s *Service) pin(ctx context.Context, v video.Video, info blob.Info, finish func(context.Context, *store.Tx) error) (bool, error) {
	id := v.ID
	// The copy may take minutes. A client or a proxy that does not wait for it calls again, and must
	// find the result of this call instead of starting another copy.
	ctx = context.WithoutCancel(ctx)
	begun := s.now()
	pinned, err := s.blobs.Copy(ctx, info.Key, objects.NewSource(id, begun), info.ETag)
	if err != nil {
		return false, err
	}
	s.hook.Reach(failpoint.SourcePinned)
	var accepted bool
	var refusal error // of the transaction itself, so that it has changed nothing
	err = s.store.InTx(ctx, func(tx *store.Tx) (err error) {
		if s.now().Sub(begun) > CompletionLimit {
			refusal = errTooSlow
			return refusal
		}
		source := video.Source{Key: pinned.Key, Size: pinned.Size, ETag: pinned.ETag}
		if source.SHA256, err = takeHash(ctx, tx, id, info.ETag); err != nil {
			return err
		}
		if accepted, err = tx.AcceptUpload(ctx, id, source, s.now()); err != nil || !accepted {
			return err
		}
		if refusal, err = s.checkAccept(ctx, tx, v.Tenant, pinned.Size); err != nil || refusal != nil {
			accepted = false
			return cmp.Or(err, refusal)
		}
		if finish == nil {
			finish = didComplete(v)
		}
		if err := finish(ctx, tx); err != nil {
			return err
		}
		return s.passes.Start(ctx, tx, id, v.Tenant)
	})
	if err != nil && refusal == nil {
		return false, err // the copy stays: the commit may have taken effect, and the sweep will know
	}
	leftover := []string{pinned.Key} // refused, or another call was faster: this copy is not needed
	if accepted {
		if s.blobs.Capabilities().Presign != nil {
			s.uploaded(pinned.Size) // most of these bytes went to the storage directly
		}
		s.hook.Reach(failpoint.UploadAccepted)
		leftover = objects.UploadKeys(id)
	}
	if failed := s.blobs.Delete(ctx, leftover...); failed != nil {
		s.log.WarnContext(ctx, "could not remove objects; the sweep will", "keys", leftover, "err", failed)
	}
	return accepted, err
}

const (
	// verifyTimeout is how long a client waits for a storage that does not answer.
	verifyTimeout = 5 * time.Second
	// headSize is how much of a file is read to tell whether it is a video.
	headSize = 8 << 10
)

// verify checks that the uploaded file of a video is there, is not too large, and begins like a video, or like sound if that
// will do.
func (s *Service) verify(ctx context.Context, v video.Video) (blob.Info, error) {
	id := v.ID
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	o, err := s.blobs.Open(ctx, objects.Upload(id))
	if errors.Is(err, fs.ErrNotExist) {
		return blob.Info{}, s.missing(ctx, id)
	}
	if err != nil {
		return blob.Info{}, err
	}
	defer o.Close()
	info := o.Info()
	limit, err := s.sizeLimit(ctx, id, info.Size)
	switch {
	case err != nil:
		return blob.Info{}, err
	case info.Size == 0:
		return blob.Info{}, video.Failf(video.UploadEmpty, "The uploaded file is empty.")
	case info.Size > limit:
		return blob.Info{}, video.Failf(video.FileTooLarge, "The file has %d bytes; at most %d are accepted.", info.Size, limit)
	}
	head := make([]byte, min(info.Size, headSize))
	if _, err := o.ReadAt(head, 0); err != nil && err != io.EOF {
		return blob.Info{}, err
	}
	return info, s.admit(head, v.AcceptAudio)
}

// missing says why there is no file: none was sent, or a resumable upload is not finished.
func (s *Service) missing(ctx context.Context, id video.ID) error {
	_, err := s.blobs.Stat(ctx, objects.UploadRecord(id))
	switch {
	case err == nil:
		return video.Failf(video.UploadMissing, "The resumable upload of the file is not finished.")
	case errors.Is(err, fs.ErrNotExist):
		return video.Failf(video.UploadMissing, "No file was uploaded.")
	}
	return err
}

// sizeLimit is how large an uploaded file may be: larger if it was uploaded resumably.
func (s *Service) sizeLimit(ctx context.Context, id video.ID, size int64) (int64, error) {
	if size <= s.config.MaxBytes {
		return s.config.MaxBytes, nil
	}
	_, err := s.blobs.Stat(ctx, objects.UploadRecord(id))
	if errors.Is(err, fs.ErrNotExist) {
		return s.config.MaxBytes, nil
	}
	return s.LargestFile(), err
}

// LargestFile is the size of the largest file that is accepted in any way.
func (s *Service) LargestFile() int64 { return max(s.config.MaxBytes, s.config.MaxResumableBytes) }

// refuse marks a video as failed because of its upload and returns the answer for the client: nil if
// another call has accepted a file meanwhile.
func (s *Service) refuse(ctx context.Context, v video.Video, f *video.Failure) error {
	if v.Failure != nil && v.Failure.Code == video.UploadExpired {
		f = v.Failure // the bytes were removed on purpose; "no file was uploaded" would be wrong
	}
	var refused bool
	err := s.store.InTx(ctx, func(tx *store.Tx) (err error) {
		if refused, err = tx.RefuseUpload(ctx, v.ID, f); err != nil || !refused {
			return err
		}
		return didComplete(v)(ctx, tx)
	})
	if err != nil || !refused {
		return err
	}
	if err := s.dropRecord(ctx, v.ID, f); err != nil {
		return err
	}
	s.finished(video.Fail, f)
	kind := video.Unprocessable
	if f.Code == video.FileTooLarge {
		kind = video.TooLarge
	}
	hint := ""
	if v.UploadOpen(s.now()) {
		hint = " You can upload to the same address and complete again until " + v.UploadExpiresAt.Format(time.RFC3339) + "."
	}
	return &video.Error{Kind: kind, Code: string(f.Code), Msg: f.Message + hint}
}

// dropRecord has the next resumable upload begin again after a file that was refused. A file that is
// only missing may still come.
func (s *Service) dropRecord(ctx context.Context, id video.ID, f *video.Failure) error {
	if f.Code == video.UploadMissing || f.Code == video.UploadExpired {
		return nil
	}
	if err := s.blobs.Delete(ctx, objects.UploadRecord(id)); err != nil {
		return blob.ServiceError("remove the record of a refused upload", err)
	}
	return nil
}
