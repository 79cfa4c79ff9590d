package encode

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/video"
)

// posterEvery is the part of a video for which one frame is always examined. A short video gets the first
// frame that is good enough, because examining more would cost a notable part of its encode.
const posterEvery = 30 * time.Second

// candidate is a frame that was made for the poster.
type candidate struct {
	picture []byte // a JPEG; nil: no frame was made
	pts     int64  // of the frame
	score   float64
}

// Poster makes a JPEG of a telling frame. It returns its path, or "" if no frame could be decoded, and when the frame is
// shown, in seconds from the beginning of the video.
func (enc *Encoder) Poster(ctx context.Context, job ffmpeg.Job, p *video.Plan, progress ffmpeg.Progress) (path string, at float64, err error) {
	var best candidate
	for looked, all := 0, p.Poster.Frames; looked < len(all); {
		if all[looked].Seek == video.NoSeek && best.score >= goodFrame {
			break // decoding all that is before it costs more, and where that is damaged, so is this
		}
		n := inOneRun(all, looked)
		made, err := enc.posterFrames(ctx, job, p, all[looked:looked+n])
		if best.picture != nil && errors.Is(err, ffmpeg.ErrStalled) && ctx.Err() == nil {
			break // it is slow to decode; there is one
		}
		if err != nil {
			return "", 0, fmt.Errorf("poster: %w", err)
		}
		if best.picture == nil || made.score > best.score {
			best = made
		}
		looked += n
		progress.Report(float64(looked) / float64(len(all)))
		// The more frames were looked at, the less is to be expected of the others.
		if best.score >= goodFrame/float64(looked) && time.Duration(looked)*posterEvery >= p.Duration {
			break
		}
	}
	if best.picture == nil {
		return "", 0, nil
	}
	path, err = writePoster(job, best.picture)
	return path, max(0, p.Input.TimeBase.Seconds(best.pts-p.FirstPTS)), err
}

// inOneRun returns how many frames are made in the next run. Frames that are decoded from the beginning of the video
// are made together, or each would decode the earlier ones once more. The very first one is made alone, because it
// mostly is the last.
func inOneRun(frames []video.PosterFrame, from int) int {
	n := 1
	for from > 0 && from+n < len(frames) && frames[from].Seek == video.NoSeek && frames[from+n].Seek == video.NoSeek {
		n++
	}
	return n
}

func writePoster(job ffmpeg.Job, picture []byte) (string, error) {
	path := filepath.Join(job.OutDir, "poster.jpg")
	if err := os.WriteFile(path, picture, 0o600); err != nil {
		return "", fmt.Errorf("poster: %w", err)
	}
	return path, nil
}

// posterFrames makes frames in one run, and returns the best one.
func (enc *Encoder) posterFrames(ctx context.Context, job ffmpeg.Job, p *video.Plan, frames []video.PosterFrame) (candidate, error) {
	stills := posterStills(p, frames...)
	made, err := enc.stills(ctx, job, stills, posterOptions, nil)
	if err != nil {
		return candidate{}, err
	}
	return bestPoster(stills, made)
}

// posterOptions: each thread of the decoder would decode a frame that is not needed.
var posterOptions = stillOptions{threads: 1, quality: 4}

// posterStills is a plan whose thumbnails are frames, each followed by the one that it is compared with.
func posterStills(p *video.Plan, frames ...video.PosterFrame) *video.Plan {
	still := *p
	still.Renditions = []video.Rendition{{Width: p.Poster.Width, Height: p.Poster.Height}}
	still.Thumbnails = nil
	for _, f := range frames {
		still.Thumbnails = append(still.Thumbnails, video.Thumbnail{PTS: f.PTS, Seek: f.Seek}, video.Thumbnail{PTS: f.Next, Seek: f.Seek})
	}
	return &still
}

// bestPoster returns the best of the frames of posterStills, of equal ones the first. It looks at one frame after the other,
// because large ones take much memory. A frame that could not be decoded looks like one before it.
func bestPoster(p *video.Plan, made []Output) (best candidate, err error) {
	for pair := range slices.Chunk(made, 2) {
		c, err := ratePoster(p, pair[0].Path, pair[1].Path)
		if err != nil {
			return candidate{}, err
		}
		if best.picture == nil || c.score > best.score {
			best = c
			best.pts = p.Thumbnails[pair[0].Thumbnail].PTS
		}
	}
	return best, nil
}

// ratePoster says how good a frame is, beside the one shortly after it.
func ratePoster(p *video.Plan, path, next string) (candidate, error) {
	picture, frame, err := readBrightness(path, p)
	if err != nil {
		return candidate{}, err
	}
	_, later, err := readBrightness(next, p)
	if err != nil {
		return candidate{}, err
	}
	return candidate{picture: picture, score: frame.score(later)}, nil
}

func readBrightness(path string, p *video.Plan) (file []byte, b brightness, err error) {
	if file, err = os.ReadFile(path); err != nil {
		return nil, brightness{}, err
	}
	b, err = decodeBrightness(file, p.Poster.Width, p.Poster.Height)
	return file, b, err
}

// decodeBrightness returns the brightness of a JPEG. It checks the size first: a hostile source may have made
// ffmpeg write a picture that is too large to decode.
func decodeBrightness(file []byte, width, height int) (brightness, error) {
	c, err := jpeg.DecodeConfig(bytes.NewReader(file))
	if err != nil || c.Width != width || c.Height != height {
		return brightness{}, fmt.Errorf("a picture has %d × %d pixels instead of %d × %d: %w", c.Width, c.Height, width, height, err)
	}
	picture, err := jpeg.Decode(bytes.NewReader(file))
	if err != nil {
		return brightness{}, err
	}
	ycc, ok := picture.(*image.YCbCr)
	if !ok {
		return brightness{}, fmt.Errorf("a picture is a %T", picture)
	}
	return newBrightness(ycc), nil
}
