package replace

import (
	"context"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// carryTimeout is how long both videos stay locked for a storage that does not answer.
const carryTimeout = 30 * time.Second

// keepPoster keeps the automatic poster of a hidden video beside the place where the poster of the other one will be, if a
// client has uploaded that. It is a transaction of its own: if the process dies after the place was taken, the next try
// must not keep the wrong picture. The other formats of an automatic poster are made later.
func (s *Service) keepPoster(ctx context.Context, c video.Video) error {
	v, err := s.store.Video(ctx, c.Replaces)
	if err != nil || !v.PosterIsUploaded() {
		return err
	}
	return s.store.WithVideoLock(ctx, c.ID, func(tx *store.Tx) error {
		c, err := tx.Video(ctx, c.ID)
		if err != nil {
			return err
		}
		f, made := c.File(video.PosterFile)
		if !made || c.PosterIsChosen() {
			return nil
		}
		if err := s.copy(ctx, tx, c, video.PosterFile, c, video.KeptPosterFile); err != nil {
			return err
		}
		c.Files = c.WithoutFile(video.PosterFile)
		f.Name, f.Kind = video.KeptPosterFile, video.KeptPosterKind
		return tx.SetFindings(ctx, c.ID, store.Findings{Files: c.WithFiles(f)})
	})
}

// carry copies what clients have uploaded beside the file of v to where the objects of the hidden video lie, and returns the
// list of files of that. Both are locked. If v has lost its poster since keepPoster, the automatic one takes its place again.
func (s *Service) carry(ctx context.Context, tx *store.Tx, v, c video.Video) ([]video.File, error) {
	for _, f := range v.UploadedFiles() {
		if err := s.copy(ctx, tx, v, f.Name, c, f.Name); err != nil {
			return nil, err
		}
	}
	kept, isKept := c.File(video.KeptPosterFile)
	if v.PosterIsUploaded() || !isKept {
		return c.Files, nil
	}
	c.Files = c.WithoutFile(kept.Name)
	kept.Name, kept.Kind = video.PosterFile, video.PosterKind
	return c.WithFiles(kept), s.copy(ctx, tx, c, video.KeptPosterFile, c, video.PosterFile)
}

// carrySound returns the sound of the hidden video with the tracks that clients have uploaded for v. They are made again, as
// long as the new file; their own files are what they are made of. Those that are not ready are not kept.
func (s *Service) carrySound(ctx context.Context, tx *store.Tx, v, c video.Video) (*video.Sound, error) {
	sound := c.Sound
	for _, t := range v.AudioTracks() {
		if t.Source != video.Uploaded || t.Status != video.Ready || sound == nil || len(sound.Tracks) >= video.MaxTracks {
			continue
		}
		from := objects.Playback(v, t.File())
		t.Number, t.Default, t.Status, t.Upload = sound.Last+1, false, video.Processing, objects.NewTrackSource(c.Folder(), s.now())
		t.Loudness = nil
		t.Label = video.UniqueLabel(t.Label, sound.Labels(t.Number))
		if err := s.copyObject(ctx, tx, from, t.Upload); err != nil {
			return nil, err
		}
		sound = sound.With(t)
	}
	return sound, nil
}

// copy copies a file of a video that tx has locked.
func (s *Service) copy(ctx context.Context, tx *store.Tx, from video.Video, name string, to video.Video, as string) error {
	return s.copyObject(ctx, tx, objects.Playback(from, name), objects.Playback(to, as))
}

func (s *Service) copyObject(ctx context.Context, tx *store.Tx, from, to string) error {
	ctx, cancel := context.WithTimeout(ctx, carryTimeout)
	defer cancel()
	return tx.KeepAliveWhile(ctx, func(ctx context.Context) error {
		if _, err := s.blobs.Copy(ctx, from, to, ""); err != nil {
			return blob.ServiceError("copy a file of a video", err)
		}
		return nil
	})
}
