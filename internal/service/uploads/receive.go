package uploads

import (
	"context"
	"fmt"
	"io"

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
	if err := s.reserve.Check(in.Length); err != nil {
		return "", err
	}
	body := s.reserve.Reader(&limitedBody{r: in.Body, left: limit, limit: limit})
	info, err := s.blobs.Put(ctx, objects.Upload(v.ID), body)
	if err != nil {
		return "", uploadError(err)
	}
	s.hook.Reach(failpoint.UploadStored)
	s.observe.Uploaded(info.Size)
	return info.ETag, s.DiscardIfClosed(ctx, v.ID)
}

// limitedBody passes on a request's body and fails as soon as it is longer than the limit. It tells
// errors of the client's connection from those of the storage.
type limitedBody struct {
	r           io.Reader
	left, limit int64
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return 0, &video.Error{Kind: video.TooLarge, Code: "file_too_large",
			Msg: fmt.Sprintf("The file has more than the %d bytes that are accepted.", b.limit)}
	}
	if err != nil && err != io.EOF {
		err = &video.Error{Kind: video.Invalid, Code: "upload_interrupted",
			Msg: "The upload broke off; nothing was stored. Send the whole file again.", Err: err}
	}
	return n, err
}
