package uploads

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// Incoming is a file arriving at an upload address.
type Incoming struct {
	Token       string // the signed part of the address
	Video       video.ID
	ContentType string
	Length      int64 // -1 when the client does not say
	Body        io.Reader
	Stop        func() // interrupts a read of Body that is under way
}

// Receive stores the file of a PUT to an upload address and returns its ETag. Everything that can be
// refused is refused before the first byte is read.
func (s *Service) Receive(ctx context.Context, in Incoming) (etag string, err error) {
	if err := s.keys.Verify(ctx, sign.Upload, string(in.Video), in.Token); err != nil {
		return "", err
	}
	v, err := s.openForUpload(ctx, in.Video)
	if err != nil {
		return "", err
	}
	if in.ContentType != v.ContentType {
		return "", &video.Error{Kind: video.Forbidden, Code: "content_type_mismatch",
			Msg: fmt.Sprintf("Send this file with the header Content-Type: %s", v.ContentType)}
	}
	limit := s.config.MaxBytes
	if in.Length > limit {
		return "", tooLarge(in.Length, limit)
	}
	usage, err := s.usageWithout(ctx, v)
	if err != nil {
		return "", err
	}
	if err := usage.CheckFile(in.Length); err != nil {
		return "", err
	}
	leave, err := s.slots.enter(v)
	if err != nil {
		return "", err
	}
	defer leave()
	info, err := s.put(ctx, v, in, usage)
	if err != nil {
		return "", err
	}
	s.hook.Reach(failpoint.UploadStored)
	s.uploaded(info.Size)
	return info.ETag, s.DiscardIfClosed(ctx, v.ID)
}

// put stores the file while no other request writes to the upload of the video. A request that began
// earlier is ended, and its bytes are gone, before this one's disk space is checked.
func (s *Service) put(ctx context.Context, v video.Video, in Incoming, u video.Usage) (blob.Info, error) {
	end := v.UploadExpiresAt.Add(s.config.AbandonedAfter)
	body := &putBody{r: in.Body, limit: s.config.MaxBytes, usage: u, now: s.now, end: end}
	lease, err := s.leases.acquirePut(ctx, v.ID, func() {
		body.stopped.Store(true)
		if in.Stop != nil {
			in.Stop()
		}
	})
	if err != nil {
		return blob.Info{}, err
	}
	defer lease.Release()
	body.valid = lease.Valid
	if err := s.reserve.Check(in.Length); err != nil {
		return blob.Info{}, err
	}
	sum := sha256.New()
	info, err := s.blobs.Put(ctx, objects.Upload(v.ID), s.reserve.Reader(io.TeeReader(body, sum)))
	if err == nil {
		s.storeHash(ctx, v.ID, info, sum)
		return info, s.countStored(ctx, v.ID, info.Size)
	}
	if body.stopped.Load() {
		return blob.Info{}, s.whyStopped(ctx, v.ID)
	}
	return blob.Info{}, uploadError(err)
}

// whyStopped says why a PUT was ended: the video was deleted or completed, or a later upload has
// begun. The interrupted read may have ended the context of the request.
func (s *Service) whyStopped(ctx context.Context, id video.ID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), verifyTimeout)
	defer cancel()
	if err := s.DiscardIfClosed(ctx, id); err != nil {
		return err
	}
	return replaced()
}
