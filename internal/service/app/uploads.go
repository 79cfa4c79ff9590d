package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth/sign"
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

// ReceiveUpload stores the file of a PUT to an upload address and returns its
// ETag. Everything that can be refused is refused before the first byte is read.
func (a *App) ReceiveUpload(ctx context.Context, in Incoming) (etag string, err error) {
	if err := a.checkToken(ctx, sign.Upload, string(in.Video), in.Token); err != nil {
		return "", err
	}
	v, err := a.openForUpload(ctx, in.Video)
	if err != nil {
		return "", err
	}
	if in.ContentType != v.ContentType {
		return "", &video.Error{Kind: video.Forbidden, Code: "content_type_mismatch",
			Msg: fmt.Sprintf("Send this file with the header Content-Type: %s", v.ContentType)}
	}
	if in.Length > a.cfg.MaxUploadBytes {
		return "", tooLarge(in.Length, a.cfg.MaxUploadBytes)
	}
	if err := a.room(in.Length); err != nil {
		return "", err
	}
	body := a.WhileRoom(&limitedBody{r: in.Body, left: a.cfg.MaxUploadBytes, limit: a.cfg.MaxUploadBytes})
	info, err := a.blobs.Put(ctx, uploadKey(v.ID), body)
	if err != nil {
		return "", uploadError(err)
	}
	a.reached(UploadStored)
	a.observe.Uploaded(info.Size)
	return info.ETag, a.InTime(ctx, v.ID)
}

// InTime removes what has come too late: the video may have been completed with
// an earlier file, or deleted, while the bytes were arriving. Then they are
// nobody's, and it says why.
func (a *App) InTime(ctx context.Context, id video.ID) error {
	_, err := a.openForUpload(ctx, id)
	if kind := video.KindOf(err); kind == video.Conflict || kind == video.NotFound {
		if left := a.DiscardUpload(context.WithoutCancel(ctx), id); left != nil {
			return left
		}
	}
	return err
}

// openForUpload returns a video that still accepts a file.
func (a *App) openForUpload(ctx context.Context, id video.ID) (video.Video, error) {
	v, err := a.store.Video(ctx, id)
	if err != nil {
		return video.Video{}, err
	}
	if !v.DeletedAt.IsZero() {
		return video.Video{}, video.VideoNotFound()
	}
	if !v.CompletedAt.IsZero() {
		return video.Video{}, &video.Error{Kind: video.Conflict, Code: "upload_closed", Msg: "This video's upload was completed already; create a new video for another file."}
	}
	return v, nil
}

// checkToken verifies the signed part of an address.
func (a *App) checkToken(ctx context.Context, p sign.Purpose, subject, token string) error {
	switch err := a.ring.verify(ctx, p, subject, token); {
	case errors.Is(err, sign.ErrExpired):
		return &video.Error{Kind: video.Forbidden, Code: "url_expired", Msg: "This address has expired; ask for a new one."}
	case errors.Is(err, sign.ErrInvalid):
		return &video.Error{Kind: video.Forbidden, Code: "url_invalid", Msg: "This address was not signed by this server, or was changed."}
	default:
		return err
	}
}

func tooLarge(size, limit int64) *video.Error {
	return &video.Error{Kind: video.TooLarge, Code: "file_too_large",
		Msg: fmt.Sprintf("The file has %d bytes; at most %d are accepted.", size, limit)}
}

// limitedBody passes a request's body on and fails as soon as it is longer than
// the limit. Errors of the client's connection are told from those of ours.
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

func uploadError(err error) error {
	if e, ok := errors.AsType[*video.Error](err); ok {
		return e
	}
	return storageError("store upload", err)
}

// CompleteUpload verifies the uploaded file and queues its transcoding. Calling
// it again changes nothing.
func (a *App) CompleteUpload(ctx context.Context, by Actor, id video.ID) (video.Video, error) {
	v, err := a.visible(ctx, by, Write, id)
	if err != nil || !v.CompletedAt.IsZero() {
		return v, err
	}
	var accepted bool
	for range 3 { // a file that changes while it is being verified is verified again
		accepted, err = a.accept(ctx, v.ID, v.Tenant)
		if !errors.Is(err, blob.ErrChanged) && !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if f, ok := errors.AsType[*video.Failure](err); ok {
		accepted, err = false, a.refuse(ctx, v, f)
	}
	switch {
	case err != nil:
		return video.Video{}, uploadError(err)
	case accepted:
		return processing(v), nil
	default: // another call was faster; what it did stands
		return a.visible(ctx, by, Write, id)
	}
}

// processing returns v as it stands right after its upload was accepted.
func processing(v video.Video) video.Video {
	v.Status, v.Failure, v.Resolutions = video.Processing, nil, slices.Clone(v.Resolutions)
	for i := range v.Resolutions {
		v.Resolutions[i].Status, v.Resolutions[i].Failure = video.Processing, nil
	}
	return v
}

// accept verifies the uploaded file, pins it under a key that no upload address
// reaches, and turns the video to processing. A file that does not pass is a
// *video.Failure. It reports false when another call accepted a file before.
func (a *App) accept(ctx context.Context, id video.ID, tenant video.Tenant) (bool, error) {
	info, err := a.verify(ctx, id)
	if err != nil {
		return false, err
	}
	// The copy may take minutes, and a client or a proxy that does not wait for it
	// calls again: it shall find this one's work, not cause it once more.
	ctx = context.WithoutCancel(ctx)
	pinned, err := a.blobs.Copy(ctx, uploadKey(id), folder(sourcePlace, id)+a.newID(), info.ETag)
	if err != nil {
		return false, err
	}
	a.reached(SourcePinned)
	var accepted bool
	err = a.store.InTx(ctx, func(tx *store.Tx) error {
		source := video.Source{Key: pinned.Key, Size: pinned.Size, ETag: pinned.ETag}
		if accepted, err = tx.AcceptUpload(ctx, id, source, a.now()); err != nil || !accepted {
			return err
		}
		return a.queue.Enqueue(ctx, tx, inspection(id, tenant))
	})
	if err != nil {
		return false, err // the copy stays: whether the commit took effect is not known, and the sweep knows later
	}
	leftover := []string{pinned.Key} // another call was faster: this copy is nobody's
	if accepted {
		if a.blobs.Capabilities().Presign != nil {
			a.observe.Uploaded(pinned.Size) // most of such bytes go past the server
		}
		a.reached(UploadAccepted)
		leftover = uploadKeys(id)
	}
	if err := a.blobs.Delete(ctx, leftover...); err != nil {
		a.log.WarnContext(ctx, "could not remove objects; the sweep will", "keys", leftover, "err", err)
	}
	return accepted, nil
}

// verify looks at the uploaded file: it is there, not too large, and begins like
// a video.
func (a *App) verify(ctx context.Context, id video.ID) (blob.Info, error) {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	o, err := a.blobs.Open(ctx, uploadKey(id))
	if errors.Is(err, fs.ErrNotExist) {
		return blob.Info{}, video.Failf(video.UploadMissing, "No file was uploaded.")
	}
	if err != nil {
		return blob.Info{}, err
	}
	defer o.Close()
	info := o.Info()
	limit, err := a.sizeLimit(ctx, id, info.Size)
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
	return info, a.admit(head)
}

// headSize is how much of a file is looked at to tell whether it is a video.
const headSize = 8 << 10

// refuse marks a video as failed because of its upload and returns the answer
// for the client: nil if another call has accepted a file meanwhile.
func (a *App) refuse(ctx context.Context, v video.Video, f *video.Failure) error {
	if v.Failure != nil && v.Failure.Code == video.UploadExpired {
		f = v.Failure // the bytes were removed on purpose; "no file was uploaded" would be wrong
	}
	var refused bool
	err := a.store.InTx(ctx, func(tx *store.Tx) (err error) {
		refused, err = tx.RefuseUpload(ctx, v.ID, f)
		return err
	})
	if err != nil || !refused {
		return err
	}
	if err := a.forgetRefused(ctx, v.ID, f); err != nil {
		return err
	}
	a.observe.VideoFinished(video.Fail, f)
	kind := video.Unprocessable
	if f.Code == video.FileTooLarge {
		kind = video.TooLarge
	}
	hint := ""
	if v.UploadOpen(a.now()) {
		hint = " You can upload to the same address and complete again until " + v.UploadExpiresAt.Format(time.RFC3339) + "."
	}
	return &video.Error{Kind: kind, Code: string(f.Code), Msg: f.Message + hint}
}
