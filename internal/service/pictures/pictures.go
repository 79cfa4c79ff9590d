// Package pictures makes and replaces pictures of videos that have been encoded: the poster that a client chooses, and
// the frames that people ask for. What it makes, it makes with ffmpeg in the sandbox, in the process that answers the
// request, because people wait for it. A process without ffmpeg says that it has no pictures; everything else works.
package pictures

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/cache"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/still"
	"github.com/spool-video/spool/internal/service/cdn"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/video"
)

// Parts are what the service stands on.
type Parts struct {
	Store  *store.Store
	Blobs  blob.Store
	Player *playback.Player
	Purges *cdn.Recorder          // nil: there is no CDN
	Space  func(need int64) error // says whether there is space for so many bytes
	Maker  *still.Maker           // nil: this process makes no pictures
	Dir    string                 // for files while they are made
}

// Service makes and replaces pictures.
type Service struct {
	Parts
	posters    *semaphore.Weighted          // for posters, and pictures that clients send
	thumbnails *cache.Cache[string, string] // paths by their keys
}

// New returns the service. What lies in the folder for its files was left by a dead process, and is removed.
func New(p Parts) (*Service, error) {
	if err := os.RemoveAll(p.Dir); err != nil {
		return nil, fmt.Errorf("clear the folder for pictures: %w", err)
	}
	thumbnails := cache.NewEvicting(cacheSize, func(path string) { _ = os.Remove(path) }) // what is left goes at the next start
	return &Service{Parts: p, posters: semaphore.NewWeighted(postersAtOnce()), thumbnails: thumbnails}, nil
}

// postersAtOnce is how many posters are made at the same time. A picture of 64 megapixels takes a gigabyte.
func postersAtOnce() int64 { return int64(max(1, runtime.GOMAXPROCS(0)/4)) }

// patience is how long a request waits for others.
const patience = 10 * time.Second

// inTurn calls f with a job in a new folder when few others are made.
func (s *Service) inTurn(ctx context.Context, f func(ffmpeg.Job) error) error {
	if err := s.available(); err != nil {
		return err
	}
	if err := s.Space(MaxUpload); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := s.posters.Acquire(waiting, 1); err != nil {
		return busy(err)
	}
	defer s.posters.Release(1)
	return s.inFolder(f)
}

// inFolder calls f with a job in a new folder, which is removed afterwards.
func (s *Service) inFolder(f func(ffmpeg.Job) error) error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("make the folder for pictures: %w", err)
	}
	dir, err := os.MkdirTemp(s.Dir, "make-")
	if err != nil {
		return fmt.Errorf("make a folder for a picture: %w", err)
	}
	defer os.RemoveAll(dir) // what is left is removed at the next start
	job := ffmpeg.Job{Source: filepath.Join(dir, "in", "source"), OutDir: filepath.Join(dir, "out")}
	for _, d := range []string{filepath.Dir(job.Source), job.OutDir} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return fmt.Errorf("make a folder for a picture: %w", err)
		}
	}
	return f(job)
}

// available returns an error in a process that makes no pictures.
func (s *Service) available() error {
	if s.Maker == nil {
		return &video.Error{Kind: video.Unavailable, Code: "pictures_unavailable",
			Msg: "This server cannot make pictures: it has no ffmpeg, or no sandbox for it. Ask its operator.", RetryAfter: time.Hour}
	}
	return nil
}

// busy is the answer to a request that waited for others in vain.
func busy(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &video.Error{Kind: video.RateLimited, Code: "rate_limited", RetryAfter: patience, Err: err,
		Msg: "Too many pictures are being made. Try again later."}
}
