package pictures

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/still"
	"github.com/spool-video/spool/internal/video"
)

// Fit says how a picture is brought into a box.
type Fit string

const (
	Contain Fit = "contain" // all of it is seen
	Cover   Fit = "cover"   // the box is filled, and what does not fit into it is cut off
)

// Wanted is the size that is asked for. A side of 0 follows from the other one.
type Wanted struct {
	Width, Height int
	Fit           Fit // "": Contain
}

// largest returns the largest resolution that is ready.
func largest(v video.Video) (best video.Resolution, ok bool) {
	for _, r := range v.Resolutions {
		if r.Status == video.Ready && r.Width*r.Height > best.Width*best.Height {
			best, ok = r, true
		}
	}
	return best, ok
}

// frameOf returns how a frame of a video that has a ready resolution becomes a picture of the size that is wanted, and
// the resolution that it is taken from: the smallest one with enough pixels. No picture is larger than the video.
func frameOf(v video.Video, w Wanted) (still.Shot, video.Resolution) {
	r, _ := largest(v)
	shot := shotOf(w, r.Width, r.Height)
	for _, other := range v.Resolutions {
		enough := other.Width >= shot.Width && other.Height >= shot.Height
		if other.Status == video.Ready && enough && other.Width*other.Height < r.Width*r.Height {
			r = other
		}
	}
	return shot, r
}

// shotOf returns how a frame of a video of this size becomes a picture.
func shotOf(w Wanted, width, height int) still.Shot {
	side := func(wanted, of int) float64 {
		if wanted == 0 {
			return math.Inf(1)
		}
		return float64(wanted) / float64(of)
	}
	scaled := func(n int, scale float64) int { return max(1, int(math.Round(float64(n)*scale))) }
	x, y := side(w.Width, width), side(w.Height, height)
	if scale := min(x, y, 1); w.Fit != Cover || w.Width == 0 || w.Height == 0 {
		return still.Shot{Width: scaled(width, scale), Height: scaled(height, scale)}
	}
	scale := max(x, y)
	shrink := min(1, 1/scale) // a box that is larger than the video becomes smaller, and keeps its shape
	shot := still.Shot{Width: scaled(width, scale*shrink), Height: scaled(height, scale*shrink)}
	shot.CropWidth, shot.CropHeight = min(scaled(w.Width, shrink), shot.Width), min(scaled(w.Height, shrink), shot.Height)
	return shot
}

// frame makes a picture of the frame of a resolution that is shown at a time, and returns its path.
func (s *Service) frame(ctx context.Context, job ffmpeg.Job, v video.Video, r video.Resolution, at time.Duration, shot still.Shot) (string, error) {
	// A frame that begins within the same millisecond counts as shown: players tell times that are rounded.
	film, err := s.Player.OpenStill(ctx, v, r.Name, at+time.Millisecond/2)
	if err != nil {
		return "", err
	}
	defer film.Close()
	out, err := os.OpenFile(job.Source, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("store a frame: %w", err)
	}
	_, err = io.Copy(out, film)
	if err := errors.Join(err, out.Close()); err != nil {
		return "", fmt.Errorf("read a frame at %v of %s: %w", at, v.ID, err)
	}
	shot.At = film.At
	return s.Maker.Frame(ctx, job, r.Width*r.Height, shot)
}
