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

// Storage is where an upload is stored until it is complete: Disk or Bucket.
type Storage interface {
	// create starts an upload that becomes the object info.ID.
	create(ctx context.Context, info handler.FileInfo) (handler.Upload, error)
	// open returns an existing upload, or handler.ErrNotFound. An upload whose file
	// has already been put in place is reported as complete.
	open(ctx context.Context, key string) (handler.Upload, error)
	// checkSpace returns an error if there is no disk space for a PATCH of length bytes.
	checkSpace(s Services, length int64) error
	// file returns the path of the complete upload, which the service moves into
	// place, or "" if finishing the upload already created the object.
	file(info handler.FileInfo) string
	// isMissing reports whether an error means that the bytes do not exist.
	isMissing(err error) bool
}

// finishTimeout is how long putting an upload in place may take: some S3 servers
// copy every byte for it. It continues without its client, which will ask again.
const finishTimeout = 15 * time.Minute

// uploadStore is tusd's data store. Each video has one upload.
type uploadStore struct {
	services Services
	storage  Storage
}

// NewUpload starts the upload of a video. It replaces an earlier one of the same length.
func (s *uploadStore) NewUpload(ctx context.Context, info handler.FileInfo) (handler.Upload, error) {
	q := requestOf(ctx)
	ctx = q.context(ctx)
	length := info.Size
	if info.SizeIsDeferred {
		length = -1
	}
	if err := s.checkReplaced(ctx, q, info); err != nil {
		return nil, q.fail(err)
	}
	if err := s.services.Uploads.BeginResumable(ctx, q.resumable, length); err != nil {
		return nil, q.fail(err)
	}
	info.ID, info.MetaData = q.resumable.Key, nil
	inner, err := s.storage.create(ctx, info)
	if err == nil {
		err = s.services.Uploads.DiscardIfClosed(ctx, q.resumable.Video)
	}
	if err != nil {
		return nil, q.fail(err)
	}
	return &upload{Upload: inner, uploadStore: s, request: q}, nil
}

// checkReplaced returns an error if a new upload would replace one of another length: that is
// probably another file, whose client would not learn that it is lost.
func (s *uploadStore) checkReplaced(ctx context.Context, q *request, info handler.FileInfo) error {
	if q.replaces {
		return nil
	}
	earlier, err := s.storage.open(ctx, q.resumable.Key)
	if errors.Is(err, handler.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	known, err := earlier.GetInfo(ctx)
	if err != nil || known.Size == info.Size && known.SizeIsDeferred == info.SizeIsDeferred {
		return err
	}
	return &video.Error{Kind: video.Conflict, Code: "upload_exists",
		Msg: "This address already has an upload of another length, probably of another file. Create a video for each file. " +
			"To replace the earlier upload, send the header " + headerReplace + ": true."}
}

// GetUpload returns the upload that the URL of the request is for.
func (s *uploadStore) GetUpload(ctx context.Context, _ string) (handler.Upload, error) {
	q := requestOf(ctx)
	ctx = q.context(ctx)
	inner, err := s.storage.open(ctx, q.resumable.Key)
	if err == nil {
		err = s.services.Uploads.ContinueResumable(ctx, q.resumable)
	}
	if err != nil {
		return nil, q.fail(err)
	}
	return &upload{Upload: inner, uploadStore: s, request: q}, nil
}

func (s *uploadStore) AsTerminatableUpload(u handler.Upload) handler.TerminatableUpload {
	return u.(*upload)
}

func (s *uploadStore) AsLengthDeclarableUpload(u handler.Upload) handler.LengthDeclarableUpload {
	return u.(*upload)
}

// upload wraps an upload of tusd's own stores. It reports itself complete only
// when the file is in place, and records errors for the response.
type upload struct {
	handler.Upload
	*uploadStore
	request *request
	arrived bool // the file was found in place
}

// GetInfo describes the upload. If all bytes have arrived but the file is not in
// place, because the process was killed or the storage failed at that moment, it is
// put in place now: a client that reads the full offset does not come back.
func (u *upload) GetInfo(ctx context.Context) (handler.FileInfo, error) {
	ctx = u.request.context(ctx)
	info, err := u.Upload.GetInfo(ctx)
	if err != nil {
		return info, u.request.fail(err)
	}
	if info.SizeIsDeferred || info.Offset < info.Size || info.Size == 0 || u.arrived {
		return info, nil
	}
	size, err := u.services.Uploads.StoredBytes(ctx, u.request.resumable.Video)
	if err == nil && size != info.Size {
		err = u.finish(ctx)
	}
	u.arrived = err == nil
	return info, u.request.fail(err)
}

// WriteChunk appends the body of a request. The size limit is checked here as well:
// while the length of the file is unknown, tusd accepts any Content-Length. It also
// adds that to the offset, and a sum that overflows passes its own check.
func (u *upload) WriteChunk(ctx context.Context, offset int64, src io.Reader) (int64, error) {
	if u.request.length > u.request.resumable.Limit-offset {
		return 0, u.request.fail(&video.Error{Kind: video.TooLarge, Code: "file_too_large",
			Msg: fmt.Sprintf("The file would be larger than %d bytes, the most that this server accepts.", u.request.resumable.Limit)})
	}
	if err := u.request.resumable.CheckSize(offset + max(u.request.length, 0)); err != nil {
		return 0, u.request.fail(err)
	}
	if err := u.storage.checkSpace(u.services, u.request.length); err != nil {
		return 0, u.request.fail(err)
	}
	ctx = u.request.context(ctx)
	src = u.services.Space.Reader(u.request.resumable.Body(src))
	n, err := u.services.Uploads.Hashed(ctx, u.request.resumable.Video, offset, src, func(src io.Reader) (int64, error) {
		return u.Upload.WriteChunk(ctx, offset, src)
	})
	return n, u.request.fail(cmp.Or(u.services.Uploads.DiscardIfClosed(ctx, u.request.resumable.Video), err))
}

// FinishUpload puts the file in place.
func (u *upload) FinishUpload(ctx context.Context) error {
	return u.request.fail(u.finish(u.request.context(ctx)))
}

func (u *upload) finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	info, err := u.join(ctx)
	if u.storage.isMissing(err) { // an earlier attempt may have succeeded, with its response lost
		var size int64
		if size, err = u.services.Uploads.StoredBytes(ctx, u.request.resumable.Video); err == nil && size != info.Size {
			return handler.ErrNotFound
		}
	}
	if err != nil {
		return err
	}
	err = u.services.Uploads.FinishResumable(ctx, u.request.resumable.Video, u.storage.file(info))
	if u.storage.isMissing(err) {
		return handler.ErrNotFound
	}
	return err
}

// join turns the stored parts into one file. It checks what the storage really
// has, because tusd also finishes an upload after a failed write. The empty write
// is for buckets: an incomplete part is uploaded as a part by the next write only,
// and if the length was declared in a request without a body, there is no other.
func (u *upload) join(ctx context.Context) (handler.FileInfo, error) {
	inner, err := u.storage.open(ctx, u.request.resumable.Key)
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

// Terminate discards the upload.
func (u *upload) Terminate(ctx context.Context) error {
	return u.request.fail(u.services.Uploads.Discard(u.request.context(ctx), u.request.resumable.Video))
}

// DeclareLength sets the length of a file that was unknown when the upload began.
func (u *upload) DeclareLength(ctx context.Context, length int64) error {
	inner, ok := u.Upload.(handler.LengthDeclarableUpload)
	if !ok {
		return errors.ErrUnsupported
	}
	if err := u.request.resumable.CheckSize(length); err != nil {
		return u.request.fail(err)
	}
	return u.request.fail(inner.DeclareLength(u.request.context(ctx), length))
}
