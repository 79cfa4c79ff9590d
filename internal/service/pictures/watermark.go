package pictures

import (
	"context"
	"os"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/service/watermarks"
)

// Watermark reads the picture of a watermark that a client sends.
func (s *Service) Watermark(ctx context.Context, file []byte) (out watermarks.Picture, err error) {
	err = s.inTurn(ctx, func(job ffmpeg.Job) error {
		made, err := s.Maker.Mark(ctx, job, file)
		if err != nil {
			return ofClient(err)
		}
		out.Width, out.Height = made.Width, made.Height
		out.PNG, err = os.ReadFile(made.Path)
		return err
	})
	return out, err
}
