package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spool-video/spool/internal/video"
)

// Thumbnails makes the still pictures, one for each thumbnail and rendition.
// A picture that cannot be made is left out.
func (t *Tools) Thumbnails(ctx context.Context, job Job, p *video.Plan, progress Progress) ([]Output, error) {
	var outputs []Output
	for n := range p.Thumbnails {
		made, err := t.thumbnail(ctx, job, p, n)
		if err != nil {
			return nil, fmt.Errorf("thumbnail %d: %w", n, err)
		}
		outputs = append(outputs, made...)
		progress.report(float64(n+1) / float64(len(p.Thumbnails)))
	}
	return outputs, nil
}

// thumbnail makes one still picture at every rendition. In damaged films the
// frame aimed at may not be decodable; then the keyframe before it has to do,
// and at last the first frame of the film.
func (t *Tools) thumbnail(ctx context.Context, job Job, p *video.Plan, n int) ([]Output, error) {
	want := p.Thumbnails[n]
	attempts := []struct{ seek, pts int64 }{
		{want.Seek, want.PTS},
		{want.Seek, video.NoSeek},
		{video.NoSeek, video.NoSeek},
	}
	for _, a := range attempts {
		stderr, err := t.transcode(ctx, job, mayEncode(job, p, p.Duration), thumbnailArgs(job, p, n, a.seek, a.pts, t.threads), func(float64) {})
		if ours := troubleOfOurs(err, stderr); ours != nil {
			return nil, ours
		}
		made, err := pictures(job, p, n)
		if err != nil || len(made) > 0 {
			return made, err
		}
	}
	return nil, nil
}

// pictures collects the files of thumbnail n, if all of them are whole.
func pictures(job Job, p *video.Plan, n int) ([]Output, error) {
	var outputs []Output
	for i := range p.Renditions {
		path := thumbnailPath(job, n, i)
		b, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err != nil:
			return nil, err
		case !bytes.HasPrefix(b, []byte("\xff\xd8")), !bytes.HasSuffix(b, []byte("\xff\xd9")):
			return nil, nil
		}
		outputs = append(outputs, Output{Path: path, Rendition: i, Thumbnail: n, Frames: 1, Size: int64(len(b))})
	}
	return outputs, nil
}
