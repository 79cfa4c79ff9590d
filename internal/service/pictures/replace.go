package pictures

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/cdn"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

// The poster has one address, so its object is replaced. Whatever is killed in between, each object is whole, and the
// formats that are sent in place of the JPEG show the same picture: they belong to the automatic poster alone, go
// before its JPEG is replaced, and come back after it.

// storeTimeout is how long a video stays locked for a storage that does not answer.
const storeTimeout = 10 * time.Second

// errNotKept means that the automatic poster has to be kept first.
var errNotKept = errors.New("the automatic poster is not kept yet")

// replacePoster makes a picture the poster. The automatic one is kept by a transaction of its own: if the process dies
// after the picture was stored, the next request must not keep that.
func (s *Service) replacePoster(ctx context.Context, id video.ID, p poster) (v video.Video, err error) {
	ctx = context.WithoutCancel(ctx) // what is left takes a moment
	if err := pipeline.CheckStorage(ctx, s.Store, s.Blobs); err != nil {
		return v, err
	}
	for range 3 { // another request may take the automatic one in between
		if _, err = s.change(ctx, id, s.keepAutomatic); err != nil {
			return v, err
		}
		v, err = s.change(ctx, id, func(ctx context.Context, tx *store.Tx, v video.Video) ([]video.File, error) {
			return s.putPoster(ctx, tx, v, p)
		})
		if !errors.Is(err, errNotKept) {
			return v, err
		}
	}
	return v, &video.Error{Kind: video.Locked, Code: "poster_in_use", Msg: "Another request is changing the poster. Try again.", RetryAfter: time.Second, Err: err}
}

// change changes the list of a video's files, and returns the changed video. f may change objects that it tells of.
func (s *Service) change(ctx context.Context, id video.ID, f func(context.Context, *store.Tx, video.Video) ([]video.File, error)) (v video.Video, err error) {
	err = s.Store.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, id); err != nil {
			return err
		}
		if v, err = tx.Video(ctx, id); err != nil {
			return err
		}
		if v.Files, err = f(ctx, tx, v); err != nil {
			return err
		}
		return tx.SetFindings(ctx, id, store.Findings{Files: v.Files})
	})
	return v, err
}

// keepAutomatic copies the files of the automatic poster, unless they are kept already. Formats beside JPEG are listed
// under their other names only.
func (s *Service) keepAutomatic(ctx context.Context, tx *store.Tx, v video.Video) ([]video.File, error) {
	if v.PosterIsChosen() {
		return v.Files, nil
	}
	for _, name := range video.PosterFiles() {
		f, listed := v.File(name)
		if !listed {
			continue
		}
		if name != video.PosterFile {
			v.Files = v.WithoutFile(name)
		}
		f.Name, f.Kind = video.KeptPoster(name), video.KeptPosterKind
		if err := s.copy(ctx, tx, v, name, f.Name); err != nil {
			return nil, err
		}
		v.Files = v.WithFiles(f)
	}
	return v.Files, nil
}

// putPoster stores a picture in the place of the poster.
func (s *Service) putPoster(ctx context.Context, tx *store.Tx, v video.Video, p poster) ([]video.File, error) {
	if _, made := v.File(video.PosterFile); made && !v.PosterIsChosen() {
		return nil, errNotKept
	}
	if err := s.removeOtherFormats(ctx, tx, v); err != nil {
		return nil, err
	}
	err := s.locked(ctx, tx, "store a poster", func(ctx context.Context) error {
		_, err := s.Blobs.Put(ctx, objects.Playback(v, video.PosterFile), bytes.NewReader(p.jpeg))
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := tx.Did(ctx, video.Act{Action: video.ActionPosterPut, Video: v.ID}); err != nil {
		return nil, err
	}
	return v.WithFiles(p.file), s.Purges.Poster(ctx, tx, v)
}

// ResetPoster takes the automatic poster again, and returns the changed video. While the automatic one is still being
// made, there is no poster until it is.
func (s *Service) ResetPoster(ctx context.Context, by auth.Actor, id video.ID) (v video.Video, err error) {
	if _, err := auth.VisibleVideo(ctx, s.Store, by, auth.Write, id); err != nil {
		return v, err
	}
	ctx = context.WithoutCancel(ctx)
	if err := pipeline.CheckStorage(ctx, s.Store, s.Blobs); err != nil {
		return v, err
	}
	var gone []string
	v, err = s.change(ctx, id, func(ctx context.Context, tx *store.Tx, v video.Video) (files []video.File, err error) {
		if !v.PosterIsChosen() {
			return v.Files, nil
		}
		if err := tx.Did(ctx, video.Act{Action: video.ActionPosterDelete, Video: id}); err != nil {
			return nil, err
		}
		if _, kept := v.File(video.KeptPosterFile); !kept {
			gone = []string{video.PosterFile}
			return v.WithoutFile(video.PosterFile), s.Purges.File(ctx, tx, v, cdn.PosterRemoved, video.PosterFile)
		}
		files, gone, err = s.restoreAutomatic(ctx, tx, v)
		return files, errors.Join(err, s.Purges.Poster(ctx, tx, v))
	})
	if err != nil || len(gone) == 0 {
		return v, err
	}
	return v, s.removeUnlisted(ctx, v, gone)
}

// restoreAutomatic puts what was kept of the automatic poster back, JPEG first. It returns the new list, and the files
// that are not needed any more.
func (s *Service) restoreAutomatic(ctx context.Context, tx *store.Tx, v video.Video) (files []video.File, gone []string, err error) {
	if err := s.removeOtherFormats(ctx, tx, v); err != nil {
		return nil, nil, err
	}
	names := video.PosterFiles()
	for i := range names {
		name := names[len(names)-1-i]
		f, kept := v.File(video.KeptPoster(name))
		if !kept {
			continue
		}
		if err := s.copy(ctx, tx, v, f.Name, name); err != nil {
			return nil, nil, err
		}
		gone = append(gone, f.Name)
		v.Files = v.WithoutFile(f.Name)
		f.Name, f.Kind = name, video.PosterKind
		v.Files = v.WithFiles(f)
	}
	return v.Files, gone, nil
}

// removeOtherFormats removes what is sent in place of the poster's JPEG. A process that died may have left it.
func (s *Service) removeOtherFormats(ctx context.Context, tx *store.Tx, v video.Video) error {
	var keys []string
	for _, f := range video.PictureFormats {
		keys = append(keys, objects.Playback(v, video.AlternateFile(video.PosterFile, f)))
	}
	return pipeline.RemoveLocked(ctx, tx, s.Blobs, keys)
}

// copy copies a file of a video that tx has locked.
func (s *Service) copy(ctx context.Context, tx *store.Tx, v video.Video, from, to string) error {
	return s.locked(ctx, tx, "copy a poster", func(ctx context.Context) error {
		_, err := s.Blobs.Copy(ctx, objects.Playback(v, from), objects.Playback(v, to), "")
		return err
	})
}

// locked calls f, which changes objects of a video that tx has locked.
func (s *Service) locked(ctx context.Context, tx *store.Tx, what string, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return tx.KeepAliveWhile(ctx, func(ctx context.Context) error {
		if err := f(ctx); err != nil {
			return blob.ServiceError(what, err)
		}
		return nil
	})
}

// removeUnlisted removes files that the video does not list any more. What was kept stays for the sweep while a backup
// runs, which may have read the old list.
func (s *Service) removeUnlisted(ctx context.Context, v video.Video, names []string) error {
	return s.Store.WithVideoLock(ctx, v.ID, func(tx *store.Tx) error {
		now, err := tx.Video(ctx, v.ID)
		if err != nil {
			return err
		}
		held, err := pipeline.RemovalsHeld(ctx, tx)
		if err != nil {
			return err
		}
		var keys []string
		for _, name := range names {
			if _, listed := now.File(name); !listed && (!held || name == video.PosterFile) {
				keys = append(keys, objects.Playback(v, name))
			}
		}
		return pipeline.RemoveLocked(ctx, tx, s.Blobs, keys)
	})
}
