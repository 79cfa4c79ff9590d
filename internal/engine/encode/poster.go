package encode

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/video"
)

// posterEvery is for how much of a video one frame is looked at, whatever it looks like. A short
// video gets the first one that is good enough, because looking at more would cost a notable part of
// its encode.
const posterEvery = 30 * time.Second

// Poster makes a JPEG of a telling frame and returns its path, or "" if no frame could be decoded.
func (enc *Encoder) Poster(ctx context.Context, job ffmpeg.Job, p *video.Plan, progress ffmpeg.Progress) (string, error) {
	var best []byte
	most := -1.0
	for i, f := range p.Poster.Frames {
		picture, score, err := enc.posterFrame(ctx, job, p, f)
		if err != nil {
			return "", fmt.Errorf("poster: %w", err)
		}
		if picture != nil && score > most {
			best, most = picture, score
		}
		progress.Report(float64(i+1) / float64(len(p.Poster.Frames)))
		// The more frames were looked at, the less is to be expected of the others.
		if looked := i + 1; most >= goodFrame/float64(looked) && time.Duration(looked)*posterEvery >= p.Duration {
			break
		}
	}
	if best == nil {
		return "", nil
	}
	return writePoster(job, best)
}

func writePoster(job ffmpeg.Job, picture []byte) (string, error) {
	path := filepath.Join(job.OutDir, "poster.jpg")
	if err := os.WriteFile(path, picture, 0o600); err != nil {
		return "", fmt.Errorf("poster: %w", err)
	}
	return path, nil
}

// posterFrame makes the JPEG of one frame, and says how good it is.
func (enc *Encoder) posterFrame(ctx context.Context, job ffmpeg.Job, p *video.Plan, f video.PosterFrame) ([]byte, float64, error) {
	made, err := enc.stills(ctx, job, posterStills(p, f), posterOptions, nil)
	if err != nil {
		return nil, 0, err
	}
	return judgePoster(p, made)
}

// posterOptions: each thread of the decoder would decode a frame that is not needed.
var posterOptions = stillOptions{threads: 1, quality: 4}

// posterStills is a plan whose thumbnails are a frame and the one after it.
func posterStills(p *video.Plan, f video.PosterFrame) *video.Plan {
	still := *p
	still.Renditions = []video.Rendition{{Width: p.Poster.Width, Height: p.Poster.Height}}
	still.Thumbnails = []video.Thumbnail{{PTS: f.PTS, Seek: f.Seek}, {PTS: f.Next, Seek: f.Seek}}
	return &still
}

// judgePoster returns the first of two JPEGs, if there are any, and says how good it is.
func judgePoster(p *video.Plan, made []Output) (_ []byte, score float64, err error) {
	if len(made) == 0 {
		return nil, 0, nil
	}
	var pictures [2][]byte
	var frames [2]brightness
	for _, o := range made {
		if pictures[o.Thumbnail], err = os.ReadFile(o.Path); err != nil {
			return nil, 0, err
		}
		if frames[o.Thumbnail], err = decodeBrightness(pictures[o.Thumbnail], p.Poster.Width, p.Poster.Height); err != nil {
			return nil, 0, err
		}
	}
	return pictures[0], frames[0].score(frames[1]), nil
}

// decodeBrightness returns the brightness of a JPEG that has the size it should have: nobody knows what
// a hostile source has made ffmpeg write.
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
