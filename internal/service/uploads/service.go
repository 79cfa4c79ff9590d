package uploads

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/diskspace"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

// Config is what an operator may choose.
type Config struct {
	URLTTL            time.Duration // how long an upload address lives
	MaxBytes          int64         // largest file accepted in one request
	ResumableURLTTL   time.Duration // how long an address of a resumable upload lives
	MaxResumableBytes int64         // largest file accepted resumably
	AbandonedAfter    time.Duration // how long after its address has expired an upload may go on
	Concurrency       int           // how many files may arrive at a time for each API key; 0: no limit
}

// Parts are what a Service is made of.
type Parts struct {
	Store    *store.Store
	Blobs    blob.Store
	Reserve  *diskspace.Reserve
	Leases   *Leases
	Keys     *auth.SigningKeys
	Passes   *pipeline.Passes
	Admit    func(head []byte, sound bool) error // returns a *video.Failure for a file that begins like no video; sound: nor like sound alone
	Now      func() time.Time
	Log      *slog.Logger
	Uploaded func(bytes int64)                  // called for each file that arrived
	Finished func(video.Status, *video.Failure) // called for each video whose upload failed
	Hook     failpoint.Hook
}

// Service receives files and completes uploads.
type Service struct {
	config   Config
	store    *store.Store
	blobs    blob.Store
	reserve  *diskspace.Reserve
	leases   *Leases
	slots    *slots
	keys     *auth.SigningKeys
	passes   *pipeline.Passes
	admit    func(head []byte, sound bool) error
	now      func() time.Time
	log      *slog.Logger
	uploaded func(bytes int64)
	finished func(video.Status, *video.Failure)
	hook     failpoint.Hook
}

// New returns a Service.
func New(c Config, p Parts) *Service {
	return &Service{
		config: c, slots: newSlots(c.Concurrency), store: p.Store, blobs: p.Blobs, reserve: p.Reserve, leases: p.Leases, keys: p.Keys, passes: p.Passes,
		admit: p.Admit, now: p.Now, log: p.Log, uploaded: p.Uploaded, finished: p.Finished, hook: p.Hook,
	}
}

// Limits returns how long a new video waits for its file, and how large a PUT may be.
func (s *Service) Limits() (ttl time.Duration, maxBytes int64) {
	return s.config.URLTTL, s.config.MaxBytes
}

// URL returns the address for the file of a video, valid until v.UploadExpiresAt. base is what
// addresses start with, such as "https://video.example.com".
func (s *Service) URL(ctx context.Context, v video.Video, base string) (string, error) {
	if p := s.blobs.Capabilities().Presign; p != nil {
		life := v.UploadExpiresAt.Sub(s.now()) + time.Second - 1 // such addresses count whole seconds
		address, err := p.PresignPut(ctx, objects.Upload(v.ID), v.ContentType, max(life.Truncate(time.Second), time.Second))
		if err != nil {
			return "", blob.ServiceError("presign upload", err)
		}
		return address, nil
	}
	return base + "/upload/" + s.keys.Sign(sign.Upload, string(v.ID), v.UploadExpiresAt) + "/" + string(v.ID), nil
}

// ResumableURL returns the address for a resumable upload of a video.
func (s *Service) ResumableURL(id video.ID, base string) string {
	until := s.now().Add(s.config.ResumableURLTTL)
	return base + "/upload/tus/" + s.keys.Sign(sign.Resume, string(id), until) + "/" + string(id)
}

// openForUpload returns a video that still accepts a file.
func (s *Service) openForUpload(ctx context.Context, id video.ID) (video.Video, error) {
	v, err := s.store.Video(ctx, id)
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

// DiscardIfClosed removes an uploaded file that came too late: the video may have been completed with
// an earlier file, or deleted, while the bytes were arriving. The error says which.
func (s *Service) DiscardIfClosed(ctx context.Context, id video.ID) error {
	_, err := s.openForUpload(ctx, id)
	if kind := video.KindOf(err); kind == video.Conflict || kind == video.NotFound {
		if left := s.Discard(context.WithoutCancel(ctx), id); left != nil {
			return left
		}
	}
	return err
}

// Discard removes everything that was uploaded for a video and not yet accepted.
func (s *Service) Discard(ctx context.Context, id video.ID) error {
	if err := s.AbortParts(ctx, id); err != nil {
		return err
	}
	if err := s.blobs.Delete(ctx, objects.UploadKeys(id)...); err != nil {
		return blob.ServiceError("remove upload", err)
	}
	return s.store.InTx(ctx, func(tx *store.Tx) error {
		if err := dropHash(ctx, tx, id); err != nil {
			return err
		}
		return tx.CountUpload(ctx, id, 0)
	})
}

// AbortParts aborts multipart uploads of a video's file that are no object yet.
func (s *Service) AbortParts(ctx context.Context, id video.ID) error {
	all := func(string, time.Time) (bool, error) { return true, nil }
	// The whole key, and not its prefix: MinIO lists the parts of one object only.
	if _, err := s.blobs.AbortUnfinished(ctx, objects.Upload(id), all); err != nil {
		return blob.ServiceError("abort parts of an upload", err)
	}
	return nil
}

// uploadError classifies an error of storing an upload. The error of a client stays as it is.
func uploadError(err error) error {
	if e, ok := errors.AsType[*video.Error](err); ok {
		return e
	}
	return blob.ServiceError("store upload", err)
}

func tooLarge(size, limit int64) *video.Error {
	return &video.Error{Kind: video.TooLarge, Code: "file_too_large",
		Msg: fmt.Sprintf("The file has %d bytes; at most %d are accepted.", size, limit)}
}
