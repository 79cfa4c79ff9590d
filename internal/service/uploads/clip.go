package uploads

import (
	"context"
	"errors"
	"io/fs"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// Original is a file that a clip can be made of.
type Original struct {
	Info blob.Info
	// Offset is how many seconds after the first frame of the file the video begins.
	Offset float64
	// Rendition says that it is a rendition, because the source is gone.
	Rendition bool
}

// OriginalOf returns the file that clips of a video are made of: its source, or the largest rendition where the source is
// gone. The error not_clippable says that both are missing.
func (s *Service) OriginalOf(ctx context.Context, v video.Video) (Original, error) {
	if v.CompletedAt.IsZero() || v.Status == video.Fail || v.Plan == nil {
		return Original{}, notClippable()
	}
	info, err := s.blobs.Stat(ctx, v.Source.Key)
	if err == nil {
		return Original{Info: info, Offset: v.Plan.Input.TimeBase.Seconds(v.Plan.FirstPTS - v.Plan.Origin())}, nil
	}
	largest := video.Resolution{}
	for _, r := range v.Resolutions {
		if r.Status == video.Ready && r.Width*r.Height > largest.Width*largest.Height {
			largest = r
		}
	}
	for _, key := range objects.Places(v, objects.RenditionFile(largest.Name)) {
		if errors.Is(err, fs.ErrNotExist) && largest.Width > 0 {
			info, err = s.blobs.Stat(ctx, key)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return Original{}, notClippable()
	}
	if err != nil {
		return Original{}, blob.ServiceError("find the original of a clip", err)
	}
	return Original{Info: info, Rendition: true}, nil
}

func notClippable() error {
	return &video.Error{Kind: video.Conflict, Code: "not_clippable",
		Msg: "Nothing can be cut out of this video: it has failed, or its file is not there or was not inspected yet."}
}

// AcceptClip gives a video that was just created a copy of a file, and starts its first pass. From then on the original may
// be deleted. A video that was accepted by another call stays as it is.
func (s *Service) AcceptClip(ctx context.Context, v video.Video, of Original) (video.Video, error) {
	accepted, err := s.pin(ctx, v, of.Info, nil)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, blob.ErrChanged): // deleted meanwhile
		_ = s.refuse(ctx, v, video.Failf(video.UploadMissing, "The original of the clip was deleted.")) // else it expires
		return video.Video{}, notClippable()
	case err != nil:
		return video.Video{}, uploadError(err)
	case accepted:
		return processing(v), nil
	}
	return s.store.Video(ctx, v.ID)
}
