package pictures

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/still"
	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/video"
)

const (
	// cacheSize is how many bytes of pictures are kept on the disk.
	cacheSize = 256 << 20
	// blockSize is what even the smallest file takes of the disk.
	blockSize = 4 << 10
)

// Query is what a thumbnail is asked for.
type Query struct {
	At *time.Duration // nil: the moment of the poster
	Wanted
	Format video.PictureFormat // "": JPEG
}

// Thumbnail is a picture of one frame, open for reading.
type Thumbnail struct {
	*os.File
	info blob.Info
}

// Info describes it.
func (t *Thumbnail) Info() blob.Info { return t.info }

// Thumbnail returns a picture of a frame of a video. The database is asked first whether the video is there, whatever
// is in the cache: delete wins.
func (s *Service) Thumbnail(ctx context.Context, a playback.Access, q Query) (*Thumbnail, error) {
	area, err := s.Player.Authorize(ctx, a, video.ThumbnailFile)
	if err != nil {
		return nil, err
	}
	v, err := s.Store.Video(ctx, a.Video)
	if err != nil && video.KindOf(err) != video.NotFound {
		return nil, err
	}
	if err != nil || !v.DeletedAt.IsZero() || objects.PlaybackArea(v) != area {
		return nil, &video.Error{Kind: video.NotFound, Code: "not_found", Msg: "There is no such file."}
	}
	if _, ok := largest(v); !ok {
		return nil, whyNone(v)
	}
	if err := s.available(); err != nil {
		return nil, err
	}
	if !s.Maker.Has(q.Format) {
		return nil, &video.Error{Kind: video.Unavailable, Code: "pictures_unavailable", Msg: "The ffmpeg of this server cannot make this format.", RetryAfter: time.Hour}
	}
	if err := limit.TurnOf(ctx).File(ctx); err != nil {
		return nil, err
	}
	return s.thumbnail(ctx, v, q)
}

// whyNone says why a video has no frames to show.
func whyNone(v video.Video) error {
	for _, r := range v.Resolutions {
		if !r.Status.Finished() {
			return &video.Error{Kind: video.NotFound, Code: "not_ready", Msg: "No resolution of this video is ready yet.", RetryAfter: 2 * time.Second}
		}
	}
	return &video.Error{Kind: video.NotFound, Code: "not_found", Msg: "There is no such file."}
}

// thumbnail opens a picture that is in the cache, or makes it, once for all who ask at the same time.
func (s *Service) thumbnail(ctx context.Context, v video.Video, q Query) (*Thumbnail, error) {
	if q.Width == 0 && q.Height == 0 {
		q.Width, q.Height = maxPosterWidth, maxPosterHeight
	}
	at := v.PosterMoment()
	if q.At != nil {
		at = *q.At
	}
	at = min(at, v.Duration).Round(time.Millisecond)
	shot, r := frameOf(v, q.Wanted)
	shot.Format = q.Format
	key := keyOf(v, r, at, shot)
	for range 3 { // it may be removed from a full cache before it is open
		path, err := s.thumbnails.Do(ctx, key, func() (string, int64, error) { return s.makeThumbnail(ctx, key, v, r, at, shot) })
		if err != nil {
			return nil, err
		}
		t, err := openThumbnail(path, key)
		if !errors.Is(err, fs.ErrNotExist) {
			return t, err
		}
		s.thumbnails.Delete(key)
	}
	return nil, busy(fs.ErrNotExist)
}

// keyOf names a picture. It is another one when the file of the video is.
func keyOf(v video.Video, r video.Resolution, at time.Duration, shot still.Shot) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %s %d %d %+v", v.Folder(), v.Source.Key, r.Name, r.SizeBytes, at.Milliseconds(), shot))
	return hex.EncodeToString(sum[:16])
}

func openThumbnail(path, key string) (*Thumbnail, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &Thumbnail{f, blob.Info{ETag: key, Size: info.Size()}}, nil
}

// makeThumbnail makes a picture and puts it into the folder of the cache.
func (s *Service) makeThumbnail(ctx context.Context, key string, v video.Video, r video.Resolution, at time.Duration, shot still.Shot) (path string, size int64, err error) {
	release, err := limit.TurnOf(ctx).Picture(ctx)
	if err != nil {
		return "", 0, err
	}
	defer release()
	if err := s.Space(1 << 20); err != nil {
		return "", 0, err
	}
	path = filepath.Join(s.Dir, key)
	err = s.inFolder(func(job ffmpeg.Job) error {
		made, err := s.frame(ctx, job, v, r, at, shot)
		if err != nil {
			return err
		}
		info, err := os.Stat(made)
		if err != nil {
			return err
		}
		size = max(info.Size(), blockSize)
		return os.Rename(made, path)
	})
	return path, size, err
}
