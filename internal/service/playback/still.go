package playback

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/engine/stream"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// Still is one frame of a resolution, as a short film. It must be closed.
type Still struct {
	io.Reader
	io.Closer
	At int64 // when the frame is shown there, in ticks of the film
}

// OpenStill opens the frame of a resolution that is shown at a time. It reads no more of the rendition file than
// decoding that frame takes.
func (p *Player) OpenStill(ctx context.Context, v video.Video, name video.Name, at time.Duration) (*Still, error) {
	file, track, err := p.openFileTrack(ctx, place{area: objects.PlaybackArea(v), video: v.ID, folder: v.Folder()}, string(name))
	if err != nil {
		return nil, err
	}
	still, err := track.Still(at)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("the frame at %v of %s: %w", at, file.Info().Key, err)
	}
	film := stream.NewReader(still.Parts, func(from, to int64) io.ReadCloser { return file.Span(blob.Range{From: from, To: to}) })
	return &Still{Reader: film, Closer: closers{film, file}, At: still.At}, nil
}

// closers closes several things.
type closers []io.Closer

func (all closers) Close() (err error) {
	for _, c := range all {
		if e := c.Close(); err == nil {
			err = e
		}
	}
	return err
}
