package still

import (
	"context"
	"fmt"
	"slices"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/video"
)

const (
	// MaxMarkSide is how many pixels a watermark may be wide or high.
	MaxMarkSide = 4096
	// markFormat is the format in which watermarks are kept.
	markFormat video.PictureFormat = "png"
)

// Mark makes a plain PNG of a watermark, with eight bits for each colour. It keeps its size, and what is transparent. So
// the encoder never opens what a client has sent. The error is a *RefusedError if the picture is to blame.
func (m *Maker) Mark(ctx context.Context, job ffmpeg.Job, file []byte) (Converted, error) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.alpha && k.is(file) })
	if i < 0 {
		return Converted{}, &RefusedError{Reason: "The file is no PNG or WebP."}
	}
	c, err := m.convert(ctx, job, kinds[i], file, "format=rgba,setsar=1", markFormat, MaxMarkSide*MaxMarkSide)
	if err == nil && max(c.Width, c.Height) > MaxMarkSide {
		err = &RefusedError{Reason: fmt.Sprintf("The picture has %d × %d pixels; at most %d × %d are accepted.", c.Width, c.Height, MaxMarkSide, MaxMarkSide)}
	}
	return c, err
}
