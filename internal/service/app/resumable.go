package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/video"
)

// Resumable is the right to upload the file of a video in pieces.
type Resumable struct {
	Video   video.ID
	Key     string    // of the object that the pieces shall become
	Expires time.Time // of the right
	Limit   int64     // the largest file

	waits time.Time // until when the video waits for it
}

func (a *App) resumableURL(id video.ID, base string) string {
	until := a.now().Add(a.cfg.ResumableURLTTL)
	return base + "/upload/tus/" + a.ring.Sign(sign.Resume, string(id), until) + "/" + string(id)
}

// OpenResumable checks an address for uploads in pieces, and that the video
// still accepts a file.
func (a *App) OpenResumable(ctx context.Context, token string, id video.ID) (Resumable, error) {
	if err := a.checkToken(ctx, sign.Resume, string(id), token); err != nil {
		return Resumable{}, err
	}
	v, err := a.openForUpload(ctx, id)
	if err != nil {
		return Resumable{}, err
	}
	if v.Failure != nil && v.Failure.Code == video.UploadExpired {
		return Resumable{}, &video.Error{Kind: video.Forbidden, Code: "url_expired", Msg: "This upload was given up because nothing came; create a new video."}
	}
	return Resumable{Video: id, Key: uploadKey(id), Expires: sign.Expiry(token), Limit: a.cfg.MaxResumableBytes, waits: v.UploadExpiresAt}, nil
}

// BeginResumable prepares for a file of length bytes, or of an unknown length if
// that is negative. What was uploaded before goes. From now on the video waits
// for its upload as long as the address lives, so that nothing of it is swept.
func (a *App) BeginResumable(ctx context.Context, r Resumable, length int64) error {
	if length > r.Limit {
		return tooLarge(length, r.Limit)
	}
	if err := a.room(length); err != nil {
		return err
	}
	if err := a.ContinueResumable(ctx, r); err != nil {
		return err
	}
	return a.DiscardUpload(ctx, r.Video)
}

// ContinueResumable has the video wait for an upload that was begun for as long
// as this address lives. One from a repeated create request lives longer than the
// one that the upload was begun with.
func (a *App) ContinueResumable(ctx context.Context, r Resumable) error {
	if !r.waits.Before(r.Expires) {
		return nil
	}
	return a.store.KeepUploadOpen(ctx, r.Video, r.Expires)
}

// RoomForPiece returns an error while the storage has no room for so many bytes.
func (a *App) RoomForPiece(length int64) error { return a.room(length) }

// RoomBeside returns an error while a disk with so many free bytes has no room
// for what is kept there for a moment.
func (a *App) RoomBeside(need int64, free uint64) error { return a.fits(need, free) }

// ArrivedBytes returns the size of the whole file, or -1 where there is none yet.
func (a *App) ArrivedBytes(ctx context.Context, id video.ID) (int64, error) {
	info, err := a.blobs.Stat(ctx, uploadKey(id))
	if errors.Is(err, fs.ErrNotExist) {
		return -1, nil
	}
	if err != nil {
		return -1, storageError("look for the upload", err)
	}
	return info.Size, nil
}

// FinishResumable is told that all pieces have come. They are in file, or, with
// an empty name, in place already.
func (a *App) FinishResumable(ctx context.Context, id video.ID, file string) error {
	if file != "" {
		info, err := a.blobs.PutFile(ctx, uploadKey(id), file)
		if err != nil {
			return uploadError(err)
		}
		a.observe.Uploaded(info.Size)
	}
	a.reached(UploadStored)
	return a.InTime(ctx, id)
}

// DiscardUpload removes everything that was uploaded for a video and not yet
// accepted.
func (a *App) DiscardUpload(ctx context.Context, id video.ID) error {
	if err := a.abortParts(ctx, id); err != nil {
		return err
	}
	if err := a.blobs.Delete(ctx, uploadKeys(id)...); err != nil {
		return storageError("remove upload", err)
	}
	return nil
}

// abortParts takes back the parts of uploads of a video that are no object yet.
func (a *App) abortParts(ctx context.Context, id video.ID) error {
	all := func(string, time.Time) (bool, error) { return true, nil }
	// The whole key, and not its folder: MinIO lists parts of one object only.
	if _, err := a.blobs.AbortUnfinished(ctx, uploadKey(id), all); err != nil {
		return storageError("take back parts of an upload", err)
	}
	return nil
}

// forgetRefused has the next upload in pieces begin anew after a file that was
// no good. What is only not there yet may still come.
func (a *App) forgetRefused(ctx context.Context, id video.ID, f *video.Failure) error {
	if f.Code == video.UploadMissing || f.Code == video.UploadExpired {
		return nil
	}
	if err := a.blobs.Delete(ctx, recordKey(id)); err != nil {
		return storageError("forget a refused upload", err)
	}
	return nil
}

// sizeLimit is how large an uploaded file may be: larger if it came in pieces.
func (a *App) sizeLimit(ctx context.Context, id video.ID, size int64) (int64, error) {
	if size <= a.cfg.MaxUploadBytes {
		return a.cfg.MaxUploadBytes, nil
	}
	_, err := a.blobs.Stat(ctx, recordKey(id))
	if errors.Is(err, fs.ErrNotExist) {
		return a.cfg.MaxUploadBytes, nil
	}
	return max(a.cfg.MaxUploadBytes, a.cfg.MaxResumableBytes), err
}

// staleWrite is the age at which a write in parts is surely a dead process's: a
// living one would have to write one object for so long.
const staleWrite = 48 * time.Hour

// AbortUnfinished takes back the parts of objects that will never be whole, which
// cost money and are not visible: those of uploads that nobody may go on with, and
// what killed processes left. It returns how many objects there were.
func (a *App) AbortUnfinished(ctx context.Context) (int, error) {
	shared := a.alone(ctx) // then an upload that we do not know may be another's
	if _, is := errors.AsType[sharedError](shared); shared != nil && !is {
		return 0, shared
	}
	n, err := a.blobs.AbortUnfinished(ctx, "", func(key string, begun time.Time) (bool, error) {
		place, id, _, ok := parseKey(key)
		if !ok || place != uploadPlace {
			return a.now().Sub(begun) > staleWrite, nil
		}
		if shared != nil {
			return false, nil
		}
		o, err := ownerOf(ctx, a.store, id)
		return err == nil && !a.owns(o, key), err
	})
	if err != nil {
		return n, fmt.Errorf("take back parts of unfinished objects: %w", err)
	}
	return n, nil
}
