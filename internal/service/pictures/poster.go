package pictures

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/still"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

// MaxUpload is how many bytes a picture may have that a client sends.
const MaxUpload = 10 << 20

// maxPosterWidth and maxPosterHeight are the size that a poster has at most.
const maxPosterWidth, maxPosterHeight = 1280, 2560

// poster is a picture that is to become the poster.
type poster struct {
	jpeg []byte
	file video.File
}

// SetPoster makes a picture that a client sends the poster, and returns the changed video.
func (s *Service) SetPoster(ctx context.Context, by auth.Actor, id video.ID, picture []byte) (video.Video, error) {
	if _, err := auth.VisibleVideo(ctx, s.Store, by, auth.Write, id); err != nil {
		return video.Video{}, err
	}
	return s.makePoster(ctx, id, func(job ffmpeg.Job) (string, video.File, error) {
		made, err := s.Maker.Convert(ctx, job, picture)
		return made.Path, video.File{Source: video.Uploaded, Width: made.Width, Height: made.Height}, ofClient(err)
	})
}

// ofClient turns the refusal of a picture into an answer.
func ofClient(err error) error {
	if refused, ok := errors.AsType[*still.RefusedError](err); ok {
		return &video.Error{Kind: video.Invalid, Code: "invalid_picture", Msg: refused.Reason}
	}
	return err
}

// SetPosterTime makes the frame that is shown at a time the poster, and returns the changed video. The frame is taken
// from a rendition: it is upright and in plain colours there, and has the time that viewers see.
func (s *Service) SetPosterTime(ctx context.Context, by auth.Actor, id video.ID, at time.Duration) (video.Video, error) {
	v, err := auth.VisibleVideo(ctx, s.Store, by, auth.Write, id)
	if err != nil {
		return v, err
	}
	if _, ok := largest(v); !ok {
		return v, &video.Error{Kind: video.Conflict, Code: "not_ready", RetryAfter: 5 * time.Second,
			Msg: "A frame can be chosen when a resolution is ready, and none is."}
	}
	at = min(at, v.Duration).Round(time.Millisecond)
	shot, r := frameOf(v, Wanted{Width: maxPosterWidth, Height: maxPosterHeight})
	return s.makePoster(ctx, id, func(job ffmpeg.Job) (string, video.File, error) {
		path, err := s.frame(ctx, job, v, r, at, shot)
		return path, video.File{Source: video.Chosen, Width: shot.Width, Height: shot.Height, At: new(at.Seconds())}, err
	})
}

// makePoster has a picture made and makes it the poster. Few are made at the same time.
func (s *Service) makePoster(ctx context.Context, id video.ID, produce func(ffmpeg.Job) (path string, f video.File, err error)) (video.Video, error) {
	var p poster
	err := s.inTurn(ctx, func(job ffmpeg.Job) error {
		path, f, err := produce(job)
		if err != nil {
			return err
		}
		p.file = f
		p.jpeg, err = os.ReadFile(path)
		return err
	})
	if err != nil {
		return video.Video{}, err
	}
	p.file.Name, p.file.Kind, p.file.ContentType, p.file.Size = video.PosterFile, video.PosterKind, blob.ContentType(video.PosterFile), int64(len(p.jpeg))
	return s.replacePoster(ctx, id, p)
}
