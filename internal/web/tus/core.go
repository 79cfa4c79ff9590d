package tus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/tus/tusd/v2/pkg/handler"

	"github.com/spool-video/spool/internal/video"
)

// Storage is where pieces are gathered: Disk or Bucket.
type Storage interface {
	// create begins an upload that becomes the object info.ID.
	create(ctx context.Context, info handler.FileInfo) (handler.Upload, error)
	// open returns an upload that was begun, or handler.ErrNotFound. One whose
	// bytes are not where they were gathered any more is as long as it should be.
	open(ctx context.Context, key string) (handler.Upload, error)
	// room returns an error while there is none for a piece of length bytes.
	room(s Service, length int64) error
	// file returns where a whole upload waits to be put in place, or "" where it
	// is there by itself.
	file(info handler.FileInfo) string
	// gone reports whether an error means that the bytes are not there.
	gone(err error) bool
}

// finishPatience is how long putting an upload in place may take: some servers
// move every byte for it. It goes on without its client, who will ask again.
const finishPatience = 15 * time.Minute

// core is the store that tusd works on. Each video has one upload.
type core struct {
	service Service
	storage Storage
}

// NewUpload begins the upload of a video anew.
func (c *core) NewUpload(ctx context.Context, info handler.FileInfo) (handler.Upload, error) {
	x := exchangeOf(ctx)
	length := info.Size
	if info.SizeIsDeferred {
		length = -1
	}
	if err := c.service.BeginResumable(ctx, x.right, length); err != nil {
		return nil, x.fail(err)
	}
	info.ID, info.MetaData = x.right.Key, nil
	inner, err := c.storage.create(ctx, info)
	if err == nil {
		err = c.service.InTime(ctx, x.right.Video)
	}
	if err != nil {
		return nil, x.fail(err)
	}
	return &upload{Upload: inner, core: c, x: x}, nil
}

// GetUpload returns the upload that the address of the request is for.
func (c *core) GetUpload(ctx context.Context, _ string) (handler.Upload, error) {
	x := exchangeOf(ctx)
	inner, err := c.storage.open(ctx, x.right.Key)
	if err == nil {
		err = c.service.ContinueResumable(ctx, x.right)
	}
	if err != nil {
		return nil, x.fail(err)
	}
	return &upload{Upload: inner, core: c, x: x}, nil
}

func (c *core) AsTerminatableUpload(u handler.Upload) handler.TerminatableUpload { return u.(*upload) }

func (c *core) AsLengthDeclarableUpload(u handler.Upload) handler.LengthDeclarableUpload {
	return u.(*upload)
}

// upload is one of tusd's own, with two more promises: it says that all bytes
// have come only when the file is in place, and its errors go into the answer.
type upload struct {
	handler.Upload
	*core
	x       *exchange
	arrived bool // the file was found in place
}

// GetInfo describes the upload. Where all bytes are there and the file is not in
// place, because the process was killed or the storage failed at that moment, it
// is put there now: a client that reads a full offset does not come back.
func (u *upload) GetInfo(ctx context.Context) (handler.FileInfo, error) {
	info, err := u.Upload.GetInfo(ctx)
	if err != nil {
		return info, u.x.fail(err)
	}
	if info.SizeIsDeferred || info.Offset < info.Size || info.Size == 0 || u.arrived {
		return info, nil
	}
	size, err := u.service.ArrivedBytes(ctx, u.x.right.Video)
	if err == nil && size != info.Size {
		err = u.finish(ctx)
	}
	u.arrived = err == nil
	return info, u.x.fail(err)
}

// WriteChunk adds a piece. The limit is checked here as well: while the length of
// the file is not known, tusd takes as much as a request says that it brings. It
// also adds that to the offset, and a sum that overflows is below any length.
func (u *upload) WriteChunk(ctx context.Context, offset int64, src io.Reader) (int64, error) {
	if u.x.length > u.x.right.Limit-offset {
		return 0, u.x.fail(&video.Error{Kind: video.TooLarge, Code: "file_too_large",
			Msg: fmt.Sprintf("The file would have more than the %d bytes that are accepted.", u.x.right.Limit)})
	}
	if err := u.storage.room(u.service, u.x.length); err != nil {
		return 0, u.x.fail(err)
	}
	n, err := u.Upload.WriteChunk(ctx, offset, u.service.WhileRoom(src))
	return n, u.x.fail(cmp.Or(u.service.InTime(ctx, u.x.right.Video), err))
}

// FinishUpload puts the file in place.
func (u *upload) FinishUpload(ctx context.Context) error { return u.x.fail(u.finish(ctx)) }

func (u *upload) finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishPatience)
	defer cancel()
	info, err := u.join(ctx)
	if u.storage.gone(err) { // the answer to an earlier try may have been lost
		var size int64
		if size, err = u.service.ArrivedBytes(ctx, u.x.right.Video); err == nil && size != info.Size {
			return handler.ErrNotFound
		}
	}
	if err != nil {
		return err
	}
	err = u.service.FinishResumable(ctx, u.x.right.Video, u.storage.file(info))
	if u.storage.gone(err) {
		return handler.ErrNotFound
	}
	return err
}

// join makes one of all pieces. It goes by what the storage has: tusd wants an
// upload finished also after a write that failed. And bytes that do not fill a
// part become one with the next write only; when the length came without any
// bytes, that is the empty one here.
func (u *upload) join(ctx context.Context) (handler.FileInfo, error) {
	inner, err := u.storage.open(ctx, u.x.right.Key)
	if err != nil {
		return handler.FileInfo{}, err
	}
	info, err := inner.GetInfo(ctx)
	if err == nil && info.Offset != info.Size {
		err = handler.ErrMismatchOffset
	}
	if err == nil {
		_, err = inner.WriteChunk(ctx, info.Offset, http.NoBody)
	}
	if err == nil {
		err = inner.FinishUpload(ctx)
	}
	return info, err
}

// Terminate drops the upload.
func (u *upload) Terminate(ctx context.Context) error {
	return u.x.fail(u.service.DiscardUpload(ctx, u.x.right.Video))
}

// DeclareLength tells how long the file is after all.
func (u *upload) DeclareLength(ctx context.Context, length int64) error {
	inner, ok := u.Upload.(handler.LengthDeclarableUpload)
	if !ok {
		return errors.ErrUnsupported
	}
	return u.x.fail(inner.DeclareLength(ctx, length))
}
